"""The engine is the same mathematics as the reference, for every variant, in values and in gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from model.batches import draw_chance
from model.encoder import Workspace
from model.forward import advance_state
from model.gnn import adjacency_of
from model.parameters import initial_parameters
from model.reference import Reference, intensity, static_embeddings
from model.run import generators
from model.state import initial_state
from pipeline.variants import Variant, variants_for
from tests.model.close import assert_close
from tests.model.streams import eventful_stream, random_stream

D = 4
VARIANTS = {variant.key: variant for variant in variants_for(["Follow"]) if not variant.frequency}
LEARNED = VARIANTS["ldg_learned_sparse-bilinear"]
EXTRA = [
    replace(LEARNED, name="three_types", edge_types=3),
    replace(LEARNED, name="mixed", encoder_interaction="concat"),
    replace(LEARNED, name="one_type", edge_types=1),
    replace(VARIANTS["ldg_learned_uniform-concat"], name="one_pass_uniform", passes=1),
]


def engine(stream, variant: Variant, seeds, dtype, batches):
    """Parameters, final state, and each batch's losses (S, 3), gradient, chance and outcome."""
    parameters = initial_parameters(variant, D, generators(seeds, "weights"), dtype)
    state = initial_state(stream, variant, D, generators(seeds, "start"), dtype)
    random = generators(seeds, "training")
    results = []
    for stop in batches:
        flat = parameters.flat.detach().requires_grad_()
        start = state.position
        chance = draw_chance(stream, variant, start, stop, random, noisy=True)
        outcome = advance_state(
            stream, variant, parameters.views(flat), state, stop, chance, Workspace(), learn=True
        )
        losses = torch.stack([outcome.events, outcome.non_events, outcome.kl], dim=1)
        (gradient,) = torch.autograd.grad(losses.sum(), flat)
        results.append((losses.detach(), gradient, chance, outcome))
    return parameters, state, results


def dense_start(stream, variant, seeds, dtype):
    state = initial_state(stream, variant, D, generators(seeds, "start"), dtype)
    return state.z, state.attention.dense(), adjacency_of(state.attention)


def assert_same(stream, variant: Variant, seeds, dtype, tolerance):
    batches = (len(stream) // 2, len(stream))
    parameters, state, results = engine(stream, variant, seeds, dtype, batches)
    z0, s0, graph0 = dense_start(stream, variant, seeds, dtype)
    for row in range(len(seeds)):
        z, s, near = z0[row], s0[row], s0[row] != 0
        adjacency = graph0[row] & ~torch.eye(stream.nodes, dtype=torch.bool)
        clock = [0.0] * stream.nodes
        start = 0
        for stop, (losses, gradient, chance, outcome) in zip(batches, results, strict=True):
            p = {name: w[row].clone().requires_grad_() for name, w in parameters.named.items()}
            if not variant.is_recurrent:
                z = static_embeddings(variant, p, z0[row], adjacency)
            reference = Reference(variant, p, z, s, near, clock)
            for b in range(stop - start):
                event = start + b
                u, v, k = int(stream.u[event]), int(stream.v[event]), int(stream.k[event])
                noise = None if chance.noise is None else chance.noise[b, row].to(dtype)
                reference.event(u, v, float(stream.seconds[event]), k, chance.others[row, b], noise)
                seen = outcome.versions[row, torch.from_numpy(outcome.batch.versions[b])]
                assert_close(seen, reference.trail[b], tolerance, tolerance)
                if k == 0:
                    adjacency[u, v] = adjacency[v, u] = True
            expected = reference.losses()
            assert_close(losses[row], expected.detach(), tolerance, tolerance)
            expected.sum().backward()
            ours = parameters.views(gradient)
            for name, w in p.items():
                wanted = torch.zeros_like(w) if w.grad is None else w.grad
                assert_close(ours[name][row], wanted, tolerance, tolerance, name)
            z, s, near, clock = reference.z.detach(), reference.s.detach(), reference.near, reference.clock
            start = stop
        if variant.is_recurrent:
            assert_close(state.attention.dense()[row], s, tolerance, tolerance)
            assert_close(state.z[row], z, tolerance, tolerance)
        np.testing.assert_allclose(state.clock, clock)


@pytest.mark.parametrize(
    ("number", "variant"),
    list(enumerate([*VARIANTS.values(), *EXTRA])),
    ids=lambda one: getattr(one, "key", ""),
)
def test_engine_and_reference_agree_in_every_intermediate_and_gradient(number, variant):
    assert_same(eventful_stream(number), variant, (3,), torch.float64, 1e-9)


@pytest.mark.parametrize(
    "key", ["dyrep-bilinear", "ldg_learned_sparse-bilinear", "ldg_learned_uniform-concat", "gat-concat"]
)
def test_engine_and_reference_agree_for_several_seeds_in_single_precision(key):
    assert_same(eventful_stream(6, features=True), VARIANTS[key], (0, 3), torch.float32, 1e-5)


@pytest.mark.parametrize(
    "variant",
    [VARIANTS["ldg_learned_sparse-bilinear"], VARIANTS["gat-concat"]],
    ids=lambda variant: variant.key,
)
def test_gradients_of_the_reference_are_finite_differences(variant):
    stream = random_stream(11, nodes=4, events=4)
    seeds = (0,)
    parameters = initial_parameters(variant, D, generators(seeds, "weights"), torch.float64)
    z0, s0, graph = dense_start(stream, variant, seeds, torch.float64)
    chance = draw_chance(stream, variant, 0, len(stream), generators(seeds, "training"), noisy=True)

    def loss(flat):
        p = {name: w[0] for name, w in parameters.views(flat).items()}
        z = z0[0] if variant.is_recurrent else static_embeddings(variant, p, z0[0], graph[0])
        reference = Reference(variant, p, z, s0[0], s0[0] != 0, [0.0] * stream.nodes)
        for b in range(len(stream)):
            noise = None if chance.noise is None else chance.noise[b, 0]
            ends = int(stream.u[b]), int(stream.v[b])
            reference.event(*ends, float(stream.seconds[b]), int(stream.k[b]), chance.others[0, b], noise)
        return reference.losses().sum()

    flat = parameters.flat.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(flat), flat)
    for column in torch.randperm(flat.shape[1], generator=torch.Generator().manual_seed(0))[:12].tolist():
        step = torch.zeros_like(flat)
        step[0, column] = 1e-6
        with torch.no_grad():
            slope = (loss(flat + step) - loss(flat - step)) / 2e-6
        assert_close(gradient[0, column], slope, 1e-5, 1e-7)


def test_the_event_intensity_is_symmetric_in_its_nodes():
    parameters = initial_parameters(VARIANTS["dyrep-bilinear"], D, generators((0,), "weights"), torch.float64)
    p = {name: w[0] for name, w in parameters.named.items()}
    a, b = torch.rand(2, D, dtype=torch.float64)
    assert intensity(p, a, b, 1) == pytest.approx(float(intensity(p, b, a, 1)), rel=1e-12)
