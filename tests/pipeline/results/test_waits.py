"""Scores of forecast waiting times, against plain definitions."""

import numpy as np
import polars as pl
import pytest

from pipeline.results.waits import (
    DAY,
    Past,
    Waits,
    bin_of,
    continuous_ranked_probability,
    no_learn_forecasts,
    outcomes,
    past_of,
    pit_distribution,
    probability_integral,
    probability_within,
    reliability,
    score_waits,
    wait_scores,
    waits_between,
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
    pit = probability_integral(some_waits(seconds.tolist()), masses, EDGES)
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
    earlier = some_waits(np.floor(rng.lognormal(8, 2, 300)).tolist())
    gap = rng.lognormal(8, 2, 40)
    edges = np.array([0.0, 1.0, 60.0, 3_600.0, DAY, 400 * DAY])
    names = []
    earlier_past = Past(rng.lognormal(8, 2, 300), np.ones(300), np.ones(300))
    for name, masses in no_learn_forecasts(earlier, earlier_past, Past(gap, 1 / gap, 2 / gap), edges):
        names.append(name)
        assert masses.shape == (40, 5)
        assert masses.sum(axis=1) == pytest.approx(np.ones(40))
    assert names == ["histogram", "lognormal", "last_gap", "rate", "frequency"]


def test_open_waits_do_not_make_a_calibrated_forecast_look_otherwise() -> None:
    rng = np.random.default_rng(6)
    pit, seen = rng.random(20_000), 0.2 + rng.random(20_000)
    still_open = seen < pit
    values, share = pit_distribution(np.minimum(pit, seen), still_open)
    assert np.abs(share - values).max() < 0.02
    ended = np.sort(pit[~still_open])
    assert np.abs((np.arange(len(ended)) + 1) / len(ended) - ended).max() > 0.1


def test_open_waits_are_counted_apart() -> None:
    scores = score_waits(some_waits([5.0, 50.0, 500.0], [False, True, False]), some_masses(3), EDGES)
    assert (scores["waits"], scores["open_waits"]) == (2, 1)


def test_where_no_wait_has_ended_scores_that_need_one_are_unknown() -> None:
    waits, masses = some_waits([5.0, 50.0], [True, True]), some_masses(2)
    scores, _ = wait_scores(waits, EDGES, ("hazard", masses), [("frequency", masses[::-1])])
    assert scores["waits"].to_list() == [0, 0]
    for name in ("log_score", "gain", "crps_hours", "pit_distance", "pit_lowest_tenth"):
        assert scores[name].to_list() == [None, None]


def test_a_wait_runs_to_the_next_moment_of_the_same_node() -> None:
    waits = waits_between(np.array([0, 1, 0, 1, 0]), np.array([0.0, 0.0, 7.0, 9.0, 9.0]), 20.0)
    assert waits.seconds.tolist() == [7.0, 9.0, 2.0, 11.0, 11.0]
    assert waits.open.tolist() == [False, False, False, True, True]


def test_the_past_of_a_wait_is_what_came_before_it() -> None:
    began = np.array([0.0, 2.0 * DAY, 3.0 * DAY])
    past = past_of(waits_between(np.zeros(3, dtype=np.int64), began, 9.0 * DAY))
    assert past.gap.tolist() == [7 * DAY, 2 * DAY, DAY]
    assert past.frequency[2] == pytest.approx(3 / (3 * DAY))
    slow = sum(np.exp(-days / 30) for days in (3, 1, 0)) / (30 * DAY)
    assert past.rate[2] == pytest.approx(slow)


def test_gain_is_over_the_best_that_learns_nothing_and_skill_over_frequency() -> None:
    waits, masses = some_waits([5.0, 50.0, 500.0, 2.0]), some_masses(4)
    flat = np.full((4, 4), 0.25)
    others = [("flat", flat), ("frequency", masses[::-1])]
    scores, calibration = wait_scores(waits, EDGES, ("hazard", masses), iter(others))
    best = max(score_waits(waits, of, EDGES)["log_score"] for _, of in others)
    assert scores["gain"][0] == pytest.approx(scores["log_score"][0] - best)
    assert scores["brier_skill_1d"][2] in (0.0, None)
    assert calibration.group_by("predictor", "horizon").agg(n=pl.sum("forecasts"))[
        "n"
    ].unique().to_list() == [4]
