"""Probabilities that learn from how days came out."""

from datetime import date, timedelta

import numpy as np

from pipeline.following.chance import Chance
from pipeline.following.scores import pair_scores

N = 40
MONDAY = date(2026, 6, 1)


def test_probabilities_become_calibrated_whatever_the_model_says_of_their_size() -> None:
    random = np.random.default_rng(0)
    truth = random.gamma(0.3, 0.2, (N, N))  # events a day
    np.fill_diagonal(truth, 0.0)
    share = np.log(truth / truth.sum(1, keepdims=True) + 1e-6)
    np.fill_diagonal(share, -np.inf)
    chance = Chance.new(N)
    forecasts, outcomes = [], []
    for number in range(60):
        day = MONDAY + timedelta(days=number)
        came = random.poisson(truth) > 0
        if number >= 20:
            forecasts.append(-np.expm1(-chance.hazard(share, day)))
            outcomes.append(came)
        chance.observe(share, day, came)
    forecasts, outcomes = np.array(forecasts), np.array(outcomes)
    assert np.isclose(forecasts.sum(), outcomes.sum(), rtol=0.05)
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.7)):
        band = (forecasts >= low) & (forecasts < high)
        assert np.isclose(forecasts[band].mean(), outcomes[band].mean(), rtol=0.15)
    ideal = pair_scores(-np.expm1(-truth), outcomes[-1])["log_score"]
    assert pair_scores(forecasts[-1], outcomes[-1])["log_score"] > 1.25 * ideal


def test_what_is_kept_of_it_gives_the_same_probabilities() -> None:
    random = np.random.default_rng(1)
    share = random.normal(size=(N, N)).astype(np.float32)
    np.fill_diagonal(share, -np.inf)
    chance = Chance.new(N)
    chance.remember(random.random((N, N)) < 0.05)
    chance.observe(share, MONDAY, random.random((N, N)) < 0.05)
    again = Chance.from_arrays({name: np.array(array) for name, array in chance.arrays().items()})
    np.testing.assert_array_equal(again.hazard(share, MONDAY), chance.hazard(share, MONDAY))
    assert not chance.hazard(share, MONDAY).diagonal().any()
