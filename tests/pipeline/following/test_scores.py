"""Scores of a day against definitions written out slowly."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from pipeline.following import scores
from pipeline.following.events import FOLLOWED_EVENTS
from pipeline.following.scores import (
    AS_FORECAST,
    ONLINE,
    SCORES,
    Given,
    baseline_rows,
    habit_forecast,
    happened,
    listed_ranks,
    model_rows,
    pair_scores,
    scored_communications,
)
from pipeline.results.pairs import Pairs

N = 7


def some_events(seed: int, count: int, start: datetime) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    pairs = random.integers(0, N, (count, 2))
    pairs[:, 1] = (pairs[:, 0] + 1 + pairs[:, 1] % (N - 1)) % N
    times = np.sort(random.integers(0, 86_400, count))
    rows = [
        (
            int(u),
            int(v),
            "PushEvent",
            "communication" if number % 5 else "association",
            start + timedelta(seconds=int(at)),
        )
        for number, ((u, v), at) in enumerate(zip(pairs, times, strict=True))
    ]
    return pl.DataFrame(rows, schema=FOLLOWED_EVENTS, orient="row")


PAST = some_events(0, 40, datetime(2026, 6, 1))
TODAY = some_events(1, 25, datetime(2026, 6, 2))


HALVES = (slice(0, 20), slice(20, None))


def matrix_of(pairs: Pairs) -> np.ndarray:
    """Whether each pair is one of `pairs`: (N, N)."""
    matrix = np.zeros((N, N), bool)
    matrix.ravel()[pairs.keys] = True
    return matrix


def rank_of(scores: np.ndarray, truth: int, source: int) -> float:
    """Candidates above, and half of those level."""
    others = [node for node in range(N) if node != source]
    above = sum(scores[node] > scores[truth] for node in others)
    level = sum(scores[node] == scores[truth] for node in others) - 1
    return above + level / 2


def test_a_models_forecast_is_scored_as_it_stood() -> None:
    random = np.random.default_rng(3)
    scores = random.random((N, N))
    asked = scored_communications(TODAY, 1000, N)
    ranked = pl.DataFrame(
        {
            "position": asked,
            "rank_v": random.random(len(asked)),
            "rank_u": 0.0,
            "log_score": random.random(len(asked)),
        }
    )
    u, v = TODAY[asked.tolist()].select("u", "v").to_numpy().T
    given = {"log_score": -0.5, "brier": 0.25}
    online, stood = model_rows("rem", PAST, TODAY, ranked, listed_ranks(scores, u, v), given)
    assert given.items() <= stood.items()
    ranks = [
        (rank_of(scores[u], v, u), rank_of(scores[:, v], u, v))
        for u, v in TODAY[asked.tolist()].select("u", "v").iter_rows()
    ]
    assert stood["mar"] == pytest.approx(np.mean(ranks))
    assert stood["mrr"] == pytest.approx(np.mean([1 / (rank + 1) for both in ranks for rank in both]))
    assert stood["hits_at_10"] == 1.0
    assert online["mar"] == pytest.approx(ranked["rank_v"].to_numpy().mean() / 2)
    assert online["log_score"] == pytest.approx(ranked["log_score"].mean())
    assert online["brier"] is None
    seen = {frozenset(pair) for pair in PAST.select("u", "v").iter_rows()}
    new = 0
    for u, v, kind in TODAY.select("u", "v", "kind").iter_rows():
        new += kind == "communication" and frozenset((u, v)) not in seen
        seen.add(frozenset((u, v)))
    assert online["never_seen_events"] == stood["never_seen_events"] == new
    assert list(online) == list(stood) == SCORES


def test_probabilities_are_scored_over_every_ordered_pair() -> None:
    probability = np.random.default_rng(4).random((N, N))
    came, others = matrix_of(happened(TODAY, N)), ~np.eye(N, dtype=bool)
    logs, squares = [], []
    for a in range(N):
        for b in range(N):
            if a != b:
                p = probability[a, b] if came[a, b] else 1 - probability[a, b]
                logs.append(np.log(p))
                squares.append((1 - p) ** 2)
    every = Given(probability[others], came[others], np.ones(N * (N - 1)))
    halves = [Given(every.probability[part], every.outcome[part], every.weight[part]) for part in HALVES]
    scores = pair_scores(halves)
    assert scores["log_score"] == pytest.approx(np.mean(logs))
    assert scores["brier"] == pytest.approx(np.mean(squares))
    assert came.sum() == TODAY.filter(pl.col("kind") == "communication").select("u", "v").n_unique()


def test_what_learns_nothing_goes_on_observing_online_and_stands_still_as_forecast() -> None:
    asked = scored_communications(TODAY, 1000, N)
    rows = {(row["predictor"], row["how"]): row for row in baseline_rows(PAST, TODAY, asked, N, 1)}
    for how in (ONLINE, AS_FORECAST):
        counts = np.zeros((N, N))
        ranks = []
        for number, (u, v, kind) in enumerate(pl.concat([PAST, TODAY]).select("u", "v", "kind").iter_rows()):
            is_past = number < PAST.height
            if not is_past and kind == "communication":
                ranks.append((rank_of(counts[u], v, u) + rank_of(counts[v], u, v)) / 2)
            if is_past or how == ONLINE:
                counts[u, v] += 1
                counts[v, u] += 1
        assert rows["frequency", how]["mar"] == pytest.approx(np.mean(ranks))
        assert rows["recency", how]["events"] == len(asked)
    assert rows["frequency", AS_FORECAST]["brier"] is not None
    assert rows["recency", AS_FORECAST]["brier"] is None


def test_a_day_without_events_has_scores_without_numbers() -> None:
    nothing = TODAY.head(0)
    rows = baseline_rows(PAST, nothing, scored_communications(nothing, 10, N), N, 1)
    assert {row["events"] for row in rows} == {0}
    assert {row["mar"] for row in rows} == {None}


def test_a_busy_day_is_judged_on_events_spread_over_it() -> None:
    asked = scored_communications(TODAY, 5, N)
    kinds = TODAY["kind"].to_numpy()[asked]
    assert len(set(asked)) == 5
    assert (kinds == "communication").all()
    assert asked[0] < 5
    assert asked[-1] > TODAY.height - 5


def test_habit_is_the_share_of_days_on_which_a_pair_met() -> None:
    twice = pl.concat([PAST, PAST, TODAY])
    given = habit_forecast(twice, happened(TODAY, N), 2)
    days: dict[tuple[int, int], set] = {}
    for u, v, kind, at in twice.select("u", "v", "kind", "created_at").iter_rows():
        if kind == "communication":
            days.setdefault((u, v), set()).add(at.date())
    average = sum(map(len, days.values())) / (2 * N * (N - 1))
    came = matrix_of(happened(TODAY, N))
    shares = np.array([[(len(days.get((u, v), ())) + average) / 3 for v in range(N)] for u in range(N)])
    others = ~np.eye(N, dtype=bool)
    dense = pair_scores([Given(shares[others], came[others], np.ones(N * (N - 1)))])
    assert pair_scores([given]) == pytest.approx(dense, rel=1e-14)
    assert given.weight.sum() == N * (N - 1)
    assert len(given.weight) < N * (N - 1)


def test_of_a_large_network_fewer_communications_are_ranked() -> None:
    assert len(scored_communications(TODAY, 1000, scores.MOST_COMPARED // 6)) == 3
    assert len(scored_communications(TODAY, 1000, scores.MOST_COMPARED)) == 1
