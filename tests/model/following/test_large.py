"""A large network that is followed: some rows say what all pairs say, and nothing makes a matrix of these."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from model.following import rem
from model.following.lane import Model
from model.following.rem import RemFollower
from pipeline.following import chance, outlook
from pipeline.following.forecasts import forecast_rows
from pipeline.following.scores import happened, listed_ranks, scored_communications
from pipeline.following.window import DAY, end_of
from pipeline.results.pairs import Pairs
from tests import followed_crowd
from tests.followed_crowd import MEASURED_DAY, lane_of, prepare

FEW_PEOPLE, MANY_PEOPLE = 60, 1_100
YESTERDAY = MEASURED_DAY - DAY
NOW = end_of(YESTERDAY)


def matrix_of(follower: RemFollower) -> np.ndarray:
    """log λ of all pairs of a few people: (N, N)."""
    everyone = follower.outlook(NOW, Pairs(FEW_PEOPLE, np.empty(0, np.int64)))
    assert everyone.is_whole
    return everyone.log_intensity.reshape(FEW_PEOPLE, FEW_PEOPLE)


def test_rows_of_some_say_what_the_matrix_of_all_pairs_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, FEW_PEOPLE, "rem")
    lane = lane_of(tmp_path, FEW_PEOPLE, "rem")
    model = lane.at(YESTERDAY)
    events, _ = lane.days.of(MEASURED_DAY)
    came, asked = happened(events, FEW_PEOPLE), scored_communications(events, 100, FEW_PEOPLE)
    u, v = events[asked.tolist()].select("u", "v").to_numpy().T
    dense, whole = matrix_of(model.follower), model.pair_scores(came)
    online = model.follower.rank(events, asked)
    stood = model.ranks(u, v, came)
    hazard = np.concatenate([hazard for _, hazard in model.hazards()])
    np.testing.assert_array_equal(stood, listed_ranks(hazard, u, v))

    monkeypatch.setattr(rem, "EVERYONE", 10)
    monkeypatch.setattr(rem, "FEW", 12)
    large = Model(YESTERDAY, model.follower, model.chance)
    rows = large.outlook(came)
    assert not rows.is_whole
    for node in range(FEW_PEOPLE):
        block = rows.block(np.array([node]))
        assert block.weight.sum() == pytest.approx(FEW_PEOPLE - 1)
        np.testing.assert_allclose(block.log_intensity[0], dense[node, block.partner[0]], atol=1e-5)
        one_by_one = set(block.partner[0, block.weight[0] == 1].tolist())
        for pairs in (came, model.chance.pairs):
            assert set(pairs.partner[pairs.first[node] : pairs.first[node + 1]].tolist()) <= one_by_one
    others = np.arange(FEW_PEOPLE) != 7
    acting, acted_on = (model.follower.intensities(7, NOW, acts=acts)[others] for acts in (True, False))
    np.testing.assert_allclose(acting, dense[7, others], atol=1e-5)
    np.testing.assert_allclose(acted_on, dense[others, 7], atol=1e-5)
    np.testing.assert_allclose(large.ranks(u, v, came), stood, atol=2)
    assert large.pair_scores(came)["brier"] == pytest.approx(whole["brier"], rel=0.05)
    again = model.follower.rank(events, asked)
    np.testing.assert_array_equal(again["rank_v"], online["rank_v"])
    np.testing.assert_allclose(again["log_score"], online["log_score"], rtol=1e-4)


@pytest.mark.slow
def test_a_large_network_is_judged_and_forecast_without_a_matrix_of_all_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_crowd, "EVENTS_EACH", 3)
    prepare(tmp_path, MANY_PEOPLE, "rem")
    lane = lane_of(tmp_path, MANY_PEOPLE, "rem")
    model, (events, _) = lane.at(YESTERDAY), lane.days.of(MEASURED_DAY)
    came, names = happened(events, MANY_PEOPLE), lane.choice.names
    u, v = events[scored_communications(events, 2, MANY_PEOPLE).tolist()].select("u", "v").to_numpy().T
    for module, name, fewer in (
        (rem, "FEW", 12),
        (outlook, "AT_ONCE", 1 << 12),
        (chance, "MOST_ROWS", 100),
    ):
        monkeypatch.setattr(module, name, fewer)
    model.follower.intensities(0, NOW, acts=True)  # loads what is compiled, slow while memory is looked at
    tracemalloc.start()
    ranks, given = model.ranks(u, v, came), model.pair_scores(came)
    forecasts = forecast_rows("rem", names, model.hazards(came), NOW)
    model.chance.observe(model.outlook(came), MEASURED_DAY, came)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * MANY_PEOPLE**2, "as much as a matrix in single precision"
    assert ((ranks >= 0) & (ranks < MANY_PEOPLE)).all()
    assert given["brier"] < 0.01
    assert forecasts.height == 20 * MANY_PEOPLE
    assert (forecasts["partner"] != forecasts["node"]).all()
