"""Scores of a day against definitions written out slowly."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from pipeline.following.events import FOLLOWED_EVENTS
from pipeline.following.scores import (
    AS_FORECAST,
    ONLINE,
    SCORES,
    baseline_rows,
    communications,
    habit,
    happened,
    model_rows,
    pair_scores,
)

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


def rank_of(scores: np.ndarray, truth: int, source: int) -> float:
    """Candidates above, and half of those level."""
    others = [node for node in range(N) if node != source]
    above = sum(scores[node] > scores[truth] for node in others)
    level = sum(scores[node] == scores[truth] for node in others) - 1
    return above + level / 2


def test_a_models_forecast_is_scored_as_it_stood() -> None:
    random = np.random.default_rng(3)
    scores, probability = random.random((N, N)), random.random((N, N))
    positions = communications(TODAY, 1000)
    ranked = pl.DataFrame(
        {
            "position": positions,
            "rank_v": random.random(len(positions)),
            "rank_u": 0.0,
            "log_score": random.random(len(positions)),
        }
    )
    online, stood = model_rows("rem", PAST, TODAY, ranked, scores, probability)
    ranks = [
        (rank_of(scores[u], v, u), rank_of(scores[:, v], u, v))
        for u, v in TODAY[positions.tolist()].select("u", "v").iter_rows()
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
    came = happened(TODAY, N)
    logs, squares = [], []
    for a in range(N):
        for b in range(N):
            if a != b:
                p = probability[a, b] if came[a, b] else 1 - probability[a, b]
                logs.append(np.log(p))
                squares.append((1 - p) ** 2)
    scores = pair_scores(probability, came)
    assert scores["log_score"] == pytest.approx(np.mean(logs))
    assert scores["brier"] == pytest.approx(np.mean(squares))
    assert came.sum() == TODAY.filter(pl.col("kind") == "communication").select("u", "v").n_unique()


def test_what_learns_nothing_goes_on_observing_online_and_stands_still_as_forecast() -> None:
    positions = communications(TODAY, 1000)
    rows = {(row["predictor"], row["how"]): row for row in baseline_rows(PAST, TODAY, positions, N, 1)}
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
        assert rows["recency", how]["events"] == len(positions)
    assert rows["frequency", AS_FORECAST]["brier"] is not None
    assert rows["recency", AS_FORECAST]["brier"] is None


def test_a_day_without_events_has_scores_without_numbers() -> None:
    nothing = TODAY.head(0)
    rows = baseline_rows(PAST, nothing, communications(nothing, 10), N, 1)
    assert {row["events"] for row in rows} == {0}
    assert {row["mar"] for row in rows} == {None}


def test_a_busy_day_is_judged_on_events_spread_over_it() -> None:
    positions = communications(TODAY, 5)
    kinds = TODAY["kind"].to_numpy()[positions]
    assert len(set(positions)) == 5
    assert (kinds == "communication").all()
    assert positions[0] < 5
    assert positions[-1] > TODAY.height - 5


def test_habit_is_the_share_of_days_on_which_a_pair_met() -> None:
    twice = pl.concat([PAST, PAST, TODAY])
    shares = habit(twice, N, 2)
    both = set(PAST.filter(pl.col("kind") == "communication").select("u", "v").iter_rows()) & set(
        TODAY.filter(pl.col("kind") == "communication").select("u", "v").iter_rows()
    )
    strongest = np.argwhere(shares >= shares.max() - 1e-12)
    assert {tuple(map(int, pair)) for pair in strongest} == both
    assert 0 < shares.min() < 0.5
