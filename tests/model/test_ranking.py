"""Ranking is the rule written out: density of every candidate, one at a time."""

import math

import numpy as np
import pytest
import torch

from model import ranking
from model.batches import draw_chance
from model.encoder import Workspace
from model.forward import advance_state
from model.parameters import initial_parameters
from model.ranking import Frequencies, log_density, rank_events
from model.reference import Reference, intensity
from model.run import generators
from model.state import initial_state
from model.stream import Stream
from pipeline.results.metrics import mid_ranks
from pipeline.variants import variant_with_key, variants_for
from tests.model.streams import random_stream

D = 4


@pytest.mark.parametrize("key", ["dyrep-concat", "ldg_learned_sparse-bilinear"])
def test_every_candidate_is_scored_by_its_conditional_density(key, monkeypatch):
    monkeypatch.setattr(ranking, "HORIZON", 6)
    variant = variant_with_key(key, variants_for(["Follow"]))
    stream = random_stream(3, nodes=6, events=16)
    parameters = initial_parameters(variant, D, generators((5,), "weights"), torch.float64)
    state = initial_state(stream, variant, D, generators((5,), "start"), torch.float64)
    p = {name: w[0] for name, w in parameters.named.items()}
    start = state.attention.dense()[0]
    reference = Reference(variant, p, state.z[0], start, start != 0, [0.0] * stream.nodes)
    survival: list[float] = []
    random = generators((5,), "ranking")
    for stop in (7, 16):
        first = state.position
        chance = draw_chance(stream, variant, first, stop, random, noisy=False)
        with torch.no_grad():
            outcome = advance_state(
                stream, variant, parameters.named, state, stop, chance, Workspace(), learn=False
            )
            for source, target, column in (
                (outcome.batch.u, outcome.batch.v, 0),
                (outcome.batch.v, outcome.batch.u, 1),
            ):
                scores = log_density(
                    outcome.versions, outcome.batch, source, outcome.symmetric, outcome.rate, state.survival
                )[0].numpy()
                ours = rank_events(
                    outcome.versions, outcome.batch, outcome.symmetric, outcome.rate, state.survival
                )[0, :, column]
                np.testing.assert_array_equal(ours, mid_ranks(scores, target, source))
            for b, event in enumerate(range(first, stop)):
                u, v, k = int(stream.u[event]), int(stream.v[event]), int(stream.k[event])
                expected = log_density(
                    outcome.versions,
                    outcome.batch,
                    outcome.batch.u,
                    outcome.symmetric,
                    outcome.rate,
                    state.survival,
                )[0, b]
                tau = float(stream.seconds[event])
                clock = list(reference.clock)
                z = reference.z
                noise = torch.zeros(2, 3, dtype=torch.float64)
                reference.event(u, v, tau, k, chance.others[0, b], noise)
                for j in set(range(stream.nodes)) - {u}:
                    since = max(clock[u], clock[j])
                    passed = [
                        survival[past]
                        for past in range(max(0, event - 6), event)
                        if stream.seconds[past] > since
                    ]
                    everyone_else = stream.nodes - 2
                    density = float(intensity(p, z[u], z[j], k)) * math.exp(-sum(passed) * everyone_else / 6)
                    assert float(expected[j]) == pytest.approx(math.log(density), rel=1e-9)
                survival.append(float(reference.survival[-1]))


def counts_before(stream: Stream, until: int) -> np.ndarray:
    counts = np.zeros((stream.nodes, stream.nodes))
    for u, v in zip(stream.u[:until], stream.v[:until], strict=True):
        counts[u, v] += 1
        counts[v, u] += 1
    return counts


def test_frequencies_are_each_partners_share_of_a_nodes_events():
    stream = random_stream(1, nodes=5, events=20)
    counts = counts_before(stream, 12)
    shares = Frequencies.of_events(stream, 12).rows(np.arange(stream.nodes)).numpy()
    np.testing.assert_allclose(shares, counts / np.maximum(counts.sum(1, keepdims=True), 1), rtol=1e-6)


def test_a_node_without_events_has_no_frequent_partner():
    stream = random_stream(1, nodes=5, events=20)
    assert not Frequencies.of_events(stream, 0).rows(np.arange(stream.nodes)).any()


def test_with_frequencies_candidates_are_ranked_by_the_mean_of_two_distributions():
    variant = variant_with_key("ldg_random_sparse-bilinear", variants_for(["Follow"]))
    stream = random_stream(2, nodes=7, events=30)
    parameters = initial_parameters(variant, D, generators((0, 1), "weights"), torch.float64)
    state = initial_state(stream, variant, D, generators((0, 1), "start"), torch.float64)
    chance = draw_chance(stream, variant, 0, 30, generators((0, 1), "ranking"), noisy=False)
    with torch.no_grad():
        seen = advance_state(stream, variant, parameters.named, state, 30, chance, Workspace(), learn=False)
    arguments = (seen.versions, seen.batch, seen.symmetric, seen.rate, state.survival)
    ranks = rank_events(*arguments, Frequencies.of_events(stream, 20))
    counts = counts_before(stream, 20)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    for column, (source, target) in enumerate(((seen.batch.u, seen.batch.v), (seen.batch.v, seen.batch.u))):
        scored = log_density(
            seen.versions, seen.batch, source, seen.symmetric, seen.rate, state.survival
        ).exp()
        for seed in range(2):
            density = scored[seed].numpy().copy()
            density[np.arange(30), source] = 0
            density /= density.sum(1, keepdims=True)
            both = np.round((density + shares[source]) / 2, 9)
            expected = mid_ranks(both, target, source)
            np.testing.assert_array_equal(ranks[seed, :, column], expected)
