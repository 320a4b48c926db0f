"""The hazard of a node's next event: causal, calibrated, exact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.stream import COMMUNICATION
from model.when.hazard import (
    HazardNetwork,
    bin_edges,
    forecast_masses,
    learn_hazard,
    negative_log_likelihood,
    one_cycle,
)
from model.when.memory import node_waits, remember_waits
from model.when.settings import HazardSettings
from pipeline.results.waits import Waits, bin_of, score_waits
from tests.model.streams import random_stream

pytestmark = pytest.mark.slow  # compiles

EDGES = np.array([0.0, 1.0, 60.0, 3_600.0, 86_400.0, 400 * 86_400.0])


def test_a_wait_runs_from_an_event_of_a_node_to_its_next() -> None:
    stream = random_stream(nodes=5, events=60, seed=1)
    waits, partner, role = node_waits(stream)
    events = [
        (int(u), int(v), float(np.floor(at)))
        for u, v, k, at in zip(stream.u, stream.v, stream.k, stream.seconds, strict=True)
        if k == COMMUNICATION
    ]
    row = 0
    for number, (u, v, at) in enumerate(events):
        for side, (node, other) in enumerate(((u, v), (v, u))):
            later = [t for a, b, t in events[number + 1 :] if node in (a, b)]
            assert (waits.node[row], partner[row], role[row], waits.began[row]) == (node, other, side, at)
            assert waits.open[row] == (not later)
            if later:
                assert waits.seconds[row] == later[0] - at
            row += 1
    assert row == len(waits)


def test_what_is_remembered_at_a_moment_does_not_depend_on_what_follows() -> None:
    stream = random_stream(nodes=6, events=120, seed=2)
    waits, partner, role = node_waits(stream)
    half = len(waits) // 2
    changed = waits.node.copy()
    changed[half:] = (changed[half:] + 1) % 6
    later = waits.began.copy()
    later[half:] += 1e6
    before = remember_waits(waits, partner, role, 2, 6, EDGES, 0.0)
    other = type(waits)(changed, later, waits.seconds * 3, ~waits.open)
    after = remember_waits(other, partner, role, 2, 6, EDGES, 0.0)
    for one, two in zip(before, after, strict=True):
        assert np.array_equal(one[:half], two[:half])


def test_probabilities_of_all_outcomes_sum_to_one() -> None:
    eta = torch.randn(7, 5, dtype=torch.float64)
    ends = [
        (
            -negative_log_likelihood(
                eta, torch.full((7,), b), torch.zeros(7), torch.zeros(7, dtype=torch.bool)
            )
        ).exp()
        for b in range(5)
    ]
    outlasts = -negative_log_likelihood(
        eta, torch.full((7,), 4), torch.ones(7), torch.ones(7, dtype=torch.bool)
    )
    assert torch.allclose(sum(ends) + outlasts.exp(), torch.ones(7, dtype=torch.float64))


def test_the_hazard_finds_a_rhythm_that_pooled_waits_hide() -> None:
    # Half of the nodes wait about a minute, the others about an hour: the pooled histogram cannot know.
    rng = np.random.default_rng(5)
    node = np.repeat(np.arange(6), 300)
    wait = np.where(node < 3, rng.exponential(60, len(node)), rng.exponential(3_600, len(node))).round()
    began = np.concatenate([np.cumsum(wait[node == n]) - wait[node == n] for n in range(6)])
    order = np.argsort(began, kind="stable")
    waits = Waits(node[order], began[order], wait[order], np.zeros(len(node), dtype=bool))
    partner, role = (waits.node + 1) % 6, np.zeros(len(node), dtype=np.int64)
    settings = HazardSettings(bins=12, epochs=6, batch=64, skipped=50)
    edges = bin_edges(waits, settings.bins)
    context, evidence = remember_waits(waits, partner, role, 2, 6, edges, 0.0)
    network = learn_hazard(waits, context, evidence, edges, settings, seed=0)
    learned = score_waits(waits, forecast_masses(network, context, evidence), edges)
    pooled = np.bincount(bin_of(waits.seconds, edges), minlength=len(edges) - 1)
    histogram = score_waits(waits, np.broadcast_to(pooled / pooled.sum(), evidence.shape[:2]), edges)
    assert learned["log_score"] > histogram["log_score"] + 0.2


def test_the_same_seed_gives_the_same_network() -> None:
    stream = random_stream(nodes=5, events=200, seed=4)
    waits, partner, role = node_waits(stream)
    settings = HazardSettings(bins=5, epochs=1, skipped=5)
    edges = bin_edges(waits, settings.bins)
    context, evidence = remember_waits(waits, partner, role, 2, 5, edges, 0.0)
    one, two = (learn_hazard(waits, context, evidence, edges, settings, seed=7) for _ in range(2))
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, two.state_dict()[name])


def test_a_stored_network_forecasts_the_same(tmp_path: Path) -> None:
    stream = random_stream(nodes=5, events=200, seed=4)
    waits, partner, role = node_waits(stream)
    settings = HazardSettings(bins=5, epochs=1, skipped=5)
    edges = bin_edges(waits, settings.bins)
    context, evidence = remember_waits(waits, partner, role, 2, 5, edges, 0.0)
    network = learn_hazard(waits, context, evidence, edges, settings, seed=7)
    network.save(tmp_path / "nodes.safetensors")
    stored = HazardNetwork.load(tmp_path / "nodes.safetensors")
    assert np.array_equal(stored.edges.numpy(), edges)
    assert np.array_equal(
        forecast_masses(network, context, evidence), forecast_masses(stored, context, evidence)
    )


def test_the_likelihood_is_that_of_a_coin_tossed_for_each_bin() -> None:
    eta = torch.randn(1, 4, dtype=torch.float64)
    chance = torch.sigmoid(eta)[0].tolist()
    for where in range(4):
        survived = float(np.prod([1 - chance[b] for b in range(where)]))
        for still_open, slow in (
            (False, survived * chance[where]),
            (True, survived * (1 - chance[where]) ** 0.3),
        ):
            loss = negative_log_likelihood(
                eta, torch.tensor([where]), torch.tensor([0.3]), torch.tensor([still_open])
            )
            assert loss.item() == pytest.approx(-np.log(slow))


@pytest.mark.parametrize("wrong", [{"bins": 0}, {"learning_rate": -1.0}, {"dropout": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HazardSettings(**wrong)


@pytest.mark.parametrize("steps", [0, 1, 9, 10, 11])
def test_the_learning_rate_reaches_its_peak_and_ends_low_in_any_number_of_steps(steps: int) -> None:
    optimizer, schedule = one_cycle(torch.nn.Linear(5, 1), 3e-3, 1e-2, steps)
    rates = []
    for _ in range(steps):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert all(0 < rate <= 3e-3 for rate in rates)
    if steps > 1:
        assert max(rates) > 2.9e-3
        assert rates[-1] < 1e-6
