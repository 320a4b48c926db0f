"""The compiled engine is the same mathematics as the reference, in values and in gradients."""

import numpy as np
import pytest
import torch

from model.batches import draw_chance
from model.encoder import Workspace
from model.identity import TrainingSettings
from model.large import rule
from model.large.advance import advance_large
from model.large.layers import layers_of
from model.large.layout import Room, join_and_lay_out
from model.parameters import Parameters, initial_parameters
from model.reference import Reference
from model.run import Run, generators, new_run
from model.state import initial_state
from pipeline.variants import Variant
from tests.model.close import assert_close
from tests.model.streams import eventful_stream, random_stream
from tests.model.test_engine import EXTRA, VARIANTS, D

# Those that differ in more than the graph they begin with.
RECURRENT = [
    variant
    for variant in [*VARIANTS.values(), *EXTRA]
    if variant.is_recurrent and variant.name not in ("dyrep_random", "ldg_random_uniform")
]
SEVERAL_SEEDS = ("dyrep-bilinear", "ldg_random_sparse-concat", "ldg_learned_sparse-bilinear")
LEARNED = VARIANTS["ldg_learned_sparse-bilinear"]


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the compiled engine take small networks."""
    monkeypatch.setattr(rule, "LARGE", 0)


def close(ours: torch.Tensor, theirs: torch.Tensor, name: str) -> None:
    """Assert equality in single precision."""
    assert_close(ours, theirs, 2e-5, 2e-5, name)


@pytest.mark.parametrize("variant", RECURRENT, ids=lambda variant: variant.key)
def test_compiled_engine_and_reference_agree_in_every_loss_and_gradient(variant: Variant) -> None:
    stream, start = eventful_stream(6), 0
    seeds = (0, 3) if variant.key in SEVERAL_SEEDS else (3,)
    parameters = initial_parameters(variant, D, generators(seeds, "weights"))
    state = initial_state(stream, variant, D, generators(seeds, "start"))
    random, workspace = generators(seeds, "training"), Workspace()
    dense = state.attention.dense()
    before = [
        (state.z[row].clone(), dense[row], dense[row] != 0, [0.0] * stream.nodes) for row in range(len(seeds))
    ]
    for stop in (3, 6):
        chance = draw_chance(stream, variant, start, stop, random, noisy=True)
        flat = parameters.flat.detach().requires_grad_()
        outcome = advance_large(
            stream, variant, parameters.views(flat), state, stop, chance, workspace, learn=True
        )
        losses = torch.stack([outcome.events, outcome.non_events, outcome.kl], dim=1)
        gradients = parameters.views(torch.autograd.grad(losses.sum(), flat)[0])
        for row in range(len(seeds)):
            p = {name: w[row].clone().requires_grad_() for name, w in parameters.named.items()}
            reference = Reference(variant, p, *before[row])
            for b, event in enumerate(range(start, stop)):
                noise = None if chance.noise is None else chance.noise[b, row].float()
                u, v, k = (int(part[event]) for part in (stream.u, stream.v, stream.k))
                reference.event(u, v, float(stream.seconds[event]), k, chance.others[row, b], noise)
            expected = reference.losses()
            close(losses[row].detach(), expected.detach(), "losses")
            expected.sum().backward()
            for name, w in p.items():
                close(gradients[name][row], torch.zeros_like(w) if w.grad is None else w.grad, name)
            close(state.z[row], reference.z.detach(), "z")
            close(state.attention.dense()[row], reference.s.detach(), "S")
            np.testing.assert_allclose(state.clock, reference.clock)
            before[row] = reference.z.detach(), reference.s.detach(), reference.near, reference.clock
        start = stop


def learned_from(run: Run, stop: int, threads: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Losses, gradient and Z of one batch."""
    run.workspace.threads = threads
    random = generators(run.settings.seeds, "training")
    chance = draw_chance(run.stream, run.variant, 0, stop, random, noisy=True, senders=6)
    flat = run.parameters.flat.detach().requires_grad_()
    named = Parameters(run.parameters.shapes, flat).named
    outcome = advance_large(
        run.stream, run.variant, named, run.state, stop, chance, run.workspace, learn=True
    )
    losses = torch.stack([outcome.events, outcome.non_events, outcome.kl])
    return losses.detach(), torch.autograd.grad(losses.sum(), flat)[0], run.state.z


def test_layers_on_two_threads_have_the_bits_of_event_by_event() -> None:
    stream = random_stream(3, nodes=40, events=60)
    settings = TrainingSettings(seeds=(0, 1), d=8)
    one, two = (learned_from(new_run(stream, LEARNED, settings), len(stream), n) for n in (1, 2))
    for ours, theirs in zip(one, two, strict=True):
        assert torch.equal(ours, theirs)


def test_no_event_reads_what_another_one_of_its_layer_makes() -> None:
    stream = random_stream(3, nodes=40, events=60)
    state = initial_state(stream, LEARNED, 8, generators((0,), "start"))
    ends = np.stack([stream.u, stream.v], axis=1)
    others = (ends[:, :, None] + np.zeros((1, 1, 5), np.int64)) % 40
    words = np.arange(2 * len(stream)).reshape(-1, 2)
    plan = join_and_lay_out(state.pages, 0, ends, stream.k, others, words, "with every event", 6, Room()).plan
    layers = layers_of(plan)
    assert sorted(np.concatenate(layers)) == list(range(len(stream)))
    assert 1 < len(layers) < len(stream)
    for layer in layers:
        for b in layer:
            near = [
                plan.near[plan.near_first[b, end] : plan.near_first[b, end] + plan.width[b, end]]
                for end in (0, 1)
            ]
            read = np.concatenate([plan.own[b], plan.senders[b].reshape(-1), *near])
            assert not np.isin(read // 2, layer[layer != b]).any()
