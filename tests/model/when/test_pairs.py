"""When a acts on b next: exact, causal, the same wherever it is read back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.history.events import Events, load_events
from model.history.reading import Pass
from model.stream import COMMUNICATION
from model.when.pairs import (
    EDGES,
    PairHazard,
    days_in_bins,
    expected_in_bins,
    forecast_pairs,
    learn_pairs,
    moved_to,
    pair_masses,
    pair_negative_log_likelihood,
    survival,
    within_day,
)
from model.when.questions import NextEvents, after_events, ask_all, at_moments
from model.when.settings import PairSettings
from pipeline.lake import Lake
from pipeline.results.waits import DAY, HORIZONS, probability_within
from tests.model.when.other_future import with_other_future
from tests.small_world import store_table

pytestmark = pytest.mark.slow  # compiles

SMALL = PairSettings(questions=120, strangers=4, hidden=8, epochs=2, batch=64)
RATES = np.exp(np.random.default_rng(1).normal(0, 1, (3, len(EDGES))))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    lake = Lake(tmp_path_factory.mktemp("pairs"))
    store_table(lake)
    return load_events(lake.dataset("toy"))


def rate_at(row: int, days: float) -> float:
    return RATES[row, np.searchsorted(EDGES, days, side="right") - 1]


def test_the_likelihood_is_that_of_a_rate_followed_second_by_second() -> None:
    steps = 200_000
    for row, days in enumerate((0.03, 2.5, 50.0)):
        inside = (np.arange(steps) + 0.5) * days / steps
        slow = sum(rate_at(row, day) for day in inside) * days / steps
        in_bins = torch.from_numpy(days_in_bins(np.array([days * DAY])))
        eta = torch.from_numpy(np.log(RATES[[row]]))
        bins = torch.tensor([np.searchsorted(EDGES, days, side="right") - 1])
        for ended in (0.0, 1.0):
            loss = pair_negative_log_likelihood(eta, in_bins, bins, torch.tensor([ended]))
            assert loss.item() == pytest.approx(slow - ended * np.log(rate_at(row, days)), rel=1e-3)


def test_the_expected_time_is_the_integral_of_the_probability_of_still_waiting() -> None:
    days = np.linspace(0, 60, 600_001)
    for row in range(len(RATES)):
        waiting = survival(np.repeat(RATES[[row]], len(days), axis=0), days * DAY)
        slow = np.trapezoid(waiting, days) + waiting[-1] / RATES[row, -1]
        assert expected_in_bins(RATES[[row]]).sum() / DAY == pytest.approx(slow, rel=1e-3)


def test_each_wait_ends_with_the_next_event_from_the_node_to_the_other(events: Events) -> None:
    stream = events.stream
    end = stream.splits[1]
    questions = after_events(stream, 100, end)
    ahead = NextEvents(stream, end)
    for node, second, position in zip(questions.node, questions.second, questions.position, strict=True):
        seconds, still_open = ahead.after(node, position, second)
        for other in range(stream.nodes):
            later = [
                stream.seconds[event]
                for event in range(position, end)
                if (stream.u[event], stream.v[event], stream.k[event]) == (node, other, COMMUNICATION)
            ]
            assert still_open[other] == (not later)
            assert seconds[other] == (later[0] if later else stream.seconds[end]) - second


def test_candidates_that_are_left_out_are_counted_in_the_weight_of_those_that_stay(events: Events) -> None:
    stream = events.stream
    questions = at_moments(stream, np.array([0, 5, 3]), stream.seconds[[60, 90, 150]])
    answers = ask_all(events, questions, len(stream), strangers=2, seed=0)
    assert answers.weight.sum() == pytest.approx(3 * (stream.nodes - 1))
    assert len(answers.weight) < 3 * (stream.nodes - 1)


def test_what_is_learned_does_not_depend_on_events_that_follow(events: Events) -> None:
    end = events.stream.splits[0]
    one, two = (learn_pairs(past, end, SMALL, seed=0) for past in (events, with_other_future(events, end)))
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, two.state_dict()[name])


def test_a_stored_hazard_forecasts_the_same(events: Events, tmp_path: Path) -> None:
    hazard = learn_pairs(events, events.stream.splits[1], SMALL, seed=0)
    hazard.save(tmp_path / "pairs.safetensors")
    reading = Pass(events)
    reading.skip(len(events.stream))
    statistics = reading.ask(2, float(events.stream.seconds[-1]) + 3_600.0).x
    one, two = (
        forecast_pairs(of, statistics) for of in (hazard, PairHazard.load(tmp_path / "pairs.safetensors"))
    )
    assert np.array_equal(one.expected, two.expected)
    for hour, day, week in zip(*one.within.values(), strict=True):
        assert 0 <= hour <= day <= week <= 1


def test_a_corrected_forecast_is_that_of_the_masses_moved(events: Events) -> None:
    hazard = learn_pairs(events, events.stream.splits[1], SMALL, seed=0)
    reading = Pass(events)
    reading.skip(len(events.stream))
    statistics = reading.ask(2, float(events.stream.seconds[-1]) + 3_600.0).x
    hazard.reliability.surplus += 5.0
    hazard.reliability.forecasts += 20.0
    rates = hazard.rates(statistics)
    believed = hazard.reliability.corrected(within_day(rates))
    edges = np.unique(np.concatenate([EDGES, np.linspace(0, 30, 3_001), np.geomspace(30, 3e3, 3_000)])) * DAY
    masses = moved_to(pair_masses(rates, edges), edges, believed)
    times = forecast_pairs(hazard, statistics)
    assert np.allclose(times.within["1 d"], believed)
    for name, horizon in HORIZONS.items():
        assert np.allclose(times.within[name], probability_within(masses, edges, horizon), atol=1e-6)
    waiting = 1 - np.concatenate([np.zeros((len(masses), 1)), np.cumsum(masses, axis=1)], axis=1)
    assert np.allclose(times.expected, np.trapezoid(waiting, edges, axis=1), rtol=0.01)


@pytest.mark.parametrize("wrong", [{"questions": 0}, {"learning_rate": 0.0}, {"dropout": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PairSettings(**wrong)
