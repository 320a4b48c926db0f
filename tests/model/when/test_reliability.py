"""How earlier forecasts came out corrects later ones, and nothing is known before its time."""

import numpy as np
import pytest

from model.when.pairs import EDGES, moved_to, pair_masses
from model.when.reliability import FADING, KNOTS, Reliability
from pipeline.results.waits import DAY, HOUR


@pytest.fixture
def hours() -> np.ndarray:
    """Moments of questions, one an hour."""
    return np.arange(4_000) * float(HOUR)


def test_forecasts_that_are_too_low_are_raised_to_what_comes(hours: np.ndarray) -> None:
    random = np.random.default_rng(0)
    truth = random.uniform(0.2, 0.9, len(hours))
    came = random.random(len(hours)) < truth
    forecast = truth**2
    corrected = Reliability().follow(hours, forecast, came, hours[-1])
    late = slice(2_000, None)
    assert np.abs(forecast[late] - truth[late]).mean() > 0.15
    assert np.abs(corrected[late] - truth[late]).mean() < 0.05


def test_a_forecast_is_corrected_by_days_that_are_over_alone(hours: np.ndarray) -> None:
    forecast, came = np.full(len(hours), 0.3), np.ones(len(hours), dtype=bool)
    other = came.copy()
    other[100:] = False
    one, two = (Reliability().follow(hours, forecast, outcome, hours[-1]) for outcome in (came, other))
    assert np.array_equal(one[: 100 + 24], two[: 100 + 24])
    assert one[100 + 24] > two[100 + 24]


def test_going_on_is_the_same_as_going_through(hours: np.ndarray) -> None:
    random = np.random.default_rng(1)
    forecast, came = random.random(len(hours)), random.random(len(hours)) < 0.5
    whole = Reliability()
    whole.follow(hours, forecast, came, hours[-1])
    part = Reliability()
    part.follow(hours[:1_000], forecast[:1_000], came[:1_000], hours[999] + DAY)
    part.follow(hours[1_000:], forecast[1_000:], came[1_000:], hours[-1])
    assert np.allclose(part.forecasts, whole.forecasts)
    assert np.allclose(part.surplus, whole.surplus)


def test_the_memory_fades_and_keeps_order(hours: np.ndarray) -> None:
    memory = Reliability()
    memory.enter(0.0, 0.5, came=1.0)
    memory.enter(FADING, 0.5, came=0.0)
    assert memory.forecasts[5] == pytest.approx(1 + np.exp(-1))
    memory.follow(hours + FADING, np.tile([0.35, 0.45], 2_000), np.tile([1.0, 0.0], 2_000), 3 * FADING)
    assert (np.diff(memory.corrected(np.linspace(0, 1, 101))) >= 0).all()
    assert memory.corrected(KNOTS[[0]]) == 0


def test_a_forecast_moved_to_another_probability_within_a_day_keeps_its_shape_on_both_sides() -> None:
    rates = np.exp(np.random.default_rng(2).normal(0, 1, (3, len(EDGES))))
    edges = np.append(EDGES, 400) * DAY
    wanted = np.array([0.1, 0.5, 0.9])
    masses = pair_masses(rates, edges)
    moved = moved_to(masses, edges, wanted)
    today = edges[1:] <= DAY
    assert np.allclose(moved[:, today].sum(1), wanted)
    assert np.allclose(moved.sum(1), 1)
    for side in (today, ~today):
        before, after = (of[:, side] / of[:, side].sum(1, keepdims=True) for of in (masses, moved))
        assert np.allclose(before, after)
