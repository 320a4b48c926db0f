"""Scores of forecast waiting times, against plain definitions."""

import numpy as np
import pytest

from pipeline.results.waits import (
    DAY,
    Waits,
    bin_of,
    continuous_ranked_probability,
    no_learn_forecasts,
    outcomes,
    probability_integral,
    probability_within,
    reliability,
    score_waits,
)

EDGES = np.array([0.0, 1.0, 10.0, 100.0, 1_000.0])


def some_waits(seconds: list[float], still_open: list[bool] | None = None) -> Waits:
    count = len(seconds)
    flags = np.array(still_open) if still_open else np.zeros(count, dtype=bool)
    return Waits(
        np.zeros(count, dtype=np.int64), np.arange(count, dtype=float) * 50, np.array(seconds), flags
    )


def some_masses(count: int) -> np.ndarray:
    masses = np.random.default_rng(1).random((count, len(EDGES) - 1)) + 0.1
    return masses / masses.sum(axis=1, keepdims=True)


def test_a_wait_falls_into_the_bin_that_begins_with_it_and_a_very_long_one_into_the_last() -> None:
    assert bin_of(np.array([0.0, 0.5, 1.0, 99.0, 100.0, 5_000.0]), EDGES).tolist() == [0, 0, 1, 2, 3, 3]


def test_crps_is_the_integral_of_the_squared_distance_of_the_two_distribution_functions() -> None:
    seconds, masses = np.array([0.4, 3.0, 250.0]), some_masses(3)
    x = np.linspace(0, EDGES[-1], 2_000_001)
    for row, wait in enumerate(seconds):
        cumulative = np.interp(x, EDGES, np.concatenate([[0], np.cumsum(masses[row])]))
        slow = np.trapezoid((cumulative - (x >= wait)) ** 2, x)
        assert continuous_ranked_probability(seconds[[row]], masses[[row]], EDGES)[0] == pytest.approx(
            slow, rel=1e-4
        )


def test_the_probability_integral_of_waits_drawn_from_their_forecast_is_uniform() -> None:
    rng = np.random.default_rng(2)
    masses = some_masses(20_000)
    bins = (rng.random((20_000, 1)) > np.cumsum(masses, axis=1)).sum(axis=1)
    seconds = np.floor(EDGES[bins] + rng.random(20_000) * np.diff(EDGES)[bins])
    pit = probability_integral(seconds, masses, EDGES)
    assert np.histogram(pit, 10, (0, 1))[0] == pytest.approx(np.full(10, 2_000), abs=200)


def test_probability_within_a_horizon_reads_the_distribution_between_its_edges() -> None:
    masses = np.array([[0.1, 0.2, 0.3, 0.4]])
    assert probability_within(masses, EDGES, 10.0)[0] == pytest.approx(0.3)
    assert probability_within(masses, EDGES, 55.0)[0] == pytest.approx(0.3 + 0.3 / 2)


def test_an_open_wait_counts_only_for_horizons_that_it_has_outlasted() -> None:
    waits = some_waits([5.0, 50.0, 500.0], [False, True, True])
    predicted, happened = outcomes(waits, some_masses(3), EDGES, 100.0)
    assert happened.tolist() == [1.0, 0.0]
    assert len(predicted) == 2


def test_waits_seen_until_a_moment_do_not_know_of_later_ends() -> None:
    waits = some_waits([30.0, 200.0, 10.0]).seen_until(100.0)
    assert waits.seconds.tolist() == [30.0, 50.0]
    assert waits.open.tolist() == [False, True]


def test_the_true_distribution_scores_best() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    bins = rng.choice(4, size=5_000, p=truth)
    waits = some_waits(np.floor(EDGES[bins] + rng.random(5_000) * np.diff(EDGES)[bins]).tolist())
    forecasts = {
        name: score_waits(waits, np.broadcast_to(masses, (5_000, 4)), EDGES)
        for name, masses in {"true": truth, "flat": np.full(4, 0.25), "reversed": truth[::-1]}.items()
    }
    assert (
        forecasts["true"]["log_score"] > forecasts["flat"]["log_score"] > forecasts["reversed"]["log_score"]
    )
    assert forecasts["true"]["crps_hours"] < forecasts["flat"]["crps_hours"]
    assert forecasts["true"]["pit_distance"] < 0.03 < forecasts["reversed"]["pit_distance"]


def test_reliability_sets_what_was_predicted_beside_what_happened() -> None:
    table = reliability(np.array([0.05, 0.07, 0.95, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    assert table["tenth"].to_list() == [0, 9]
    assert table["observed"].to_list() == [0.5, 1.0]
    assert table["forecasts"].to_list() == [2, 2]


def test_every_predictor_that_learns_nothing_gives_a_whole_distribution() -> None:
    rng = np.random.default_rng(4)
    known = some_waits(np.floor(rng.lognormal(8, 2, 300)).tolist())
    gap = rng.lognormal(8, 2, 40)
    edges = np.array([0.0, 1.0, 60.0, 3_600.0, DAY, 400 * DAY])
    names = []
    for name, masses in no_learn_forecasts(known, rng.lognormal(8, 2, 300), gap, 1 / gap, edges):
        names.append(name)
        assert masses.shape == (40, 5)
        assert masses.sum(axis=1) == pytest.approx(np.ones(40))
    assert names == ["histogram", "lognormal", "last_gap", "rate"]
