"""Scores of a forecast: ranks of the day's communications, and scores of the forecast probabilities.

Each communication is ranked in both directions as everywhere (`pipeline.results.metrics`). Baselines without
learning are ranked on the same events in two ways: *online*, where they keep observing events, and *as
forecast*, frozen when the day began.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from pipeline.names import COMMUNICATION_KIND, FREQUENCY, NEVER_SEEN, TEST, TRAIN
from pipeline.results.baselines import (
    Observed,
    Predictor,
    decayed_popularity,
    predictor_ranks,
    recency_then_popularity,
    undirected,
)
from pipeline.results.metrics import metric_aggregations, mid_ranks, with_history
from pipeline.results.pairs import Pairs, pair_keys
from pipeline.schemas import FOLLOWING_BASELINES, FORECAST_SCORES

ONLINE, AS_FORECAST = "online", "as_forecast"
SCORES = FORECAST_SCORES.names[3:-1]
SMALLEST = 1e-9  # bound of probabilities: at 0 or 1, one surprise would give an infinite log score
MOST_COMPARED = 20_000_000  # most pairs compared to rank the communications of a day in one way
RANKED = {"position": pl.Int64, "rank_v": pl.Float64, "rank_u": pl.Float64, "log_score": pl.Float64}


def scored_communications(events: pl.DataFrame, most: int, nodes: int) -> np.ndarray:
    """Return the positions of a day's communications to rank; of more than `most`, evenly spaced ones.

    Ranking one compares it with all `nodes`, twice: a large network ranks fewer.
    """
    most = max(1, min(most, MOST_COMPARED // (2 * nodes)))
    every = np.flatnonzero((events["kind"] == COMMUNICATION_KIND).to_numpy())
    return every if len(every) <= most else every[np.linspace(0, len(every) - 1, most).round().astype(int)]


def past_and_day(past: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Join the past and the day in one table for the baselines: with `idx`, `split` and `pair`."""
    both = pl.concat([past.with_columns(split=pl.lit(TRAIN)), events.with_columns(split=pl.lit(TEST))])
    return with_history(both.with_row_index("idx").with_columns(pl.col("idx", "u", "v").cast(pl.Int64)))


def baseline_predictors(table: pl.DataFrame, nodes: int) -> Iterator[Predictor]:
    """Yield the `FOLLOWING_BASELINES` in order; each has observed the past of `table` and continues."""
    observed = Observed(table, Pairs.of(nodes, table))
    yield recency_then_popularity(observed, by_role=True)
    yield undirected(FREQUENCY, observed.memory(observed.counts, observed.counts))
    yield decayed_popularity(observed, by_role=True)


def baseline_rows(
    past: pl.DataFrame, events: pl.DataFrame, positions: np.ndarray, nodes: int, days: int
) -> list[dict]:
    """Return the scores of the baselines on the events at `positions`; the past spans `days` days."""
    table = past_and_day(past, events)
    judged = table[(positions + past.height).tolist()]
    rows = []
    for how in (ONLINE, AS_FORECAST):
        for name, predictor in zip(FOLLOWING_BASELINES, baseline_predictors(table, nodes), strict=True):
            looking = predictor if how == ONLINE else predictor.frozen
            ranked = predictor_ranks(looking, judged) if judged.height else pl.DataFrame(schema=RANKED)
            ranked = ranked.with_columns(judged["pair"])
            row = score_row(name, how, ranked, learns=False)
            if name == FREQUENCY and how == AS_FORECAST:
                row |= pair_scores([habit_forecast(past, happened(events, nodes), days)])
            rows.append(row)
    return rows


def model_rows(
    name: str,
    past: pl.DataFrame,
    events: pl.DataFrame,
    online_ranks: pl.DataFrame,
    forecast_ranks: np.ndarray,
    scores_of_pairs: dict[str, float],
) -> list[dict]:
    """Return a model's scores: online from its ranks, as forecast from ranks (E, 2) and pair scores."""
    pair = past_and_day(past, events)["pair"][(online_ranks["position"].to_numpy() + past.height).tolist()]
    as_forecast = pl.DataFrame({"rank_v": forecast_ranks[:, 0], "rank_u": forecast_ranks[:, 1], "pair": pair})
    row = score_row(name, ONLINE, online_ranks.with_columns(pair), learns=True)
    row["log_score"] = online_ranks["log_score"].mean()
    return [row, score_row(name, AS_FORECAST, as_forecast, learns=True) | scores_of_pairs]


def listed_ranks(scores: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rank v among u's candidates, a row of `scores` (N, N), and u among v's, a column: (E, 2)."""
    if not len(u):
        return np.empty((0, 2))
    return np.stack([mid_ranks(scores[u], v, u), mid_ranks(scores.T[v], u, v)], 1)


def score_row(name: str, how: str, ranked: pl.DataFrame, *, learns: bool) -> dict:
    """Return a row of `forecast_scores` from ranks and whether their pairs were seen before."""
    strangers = ranked.filter(pl.col("pair") == NEVER_SEEN).select(metric_aggregations()).row(0, named=True)
    row = ranked.select(metric_aggregations()).row(0, named=True)
    row |= {"predictor": name, "learns": learns, "how": how, "log_score": None, "brier": None}
    row |= {"never_seen_events": strangers["events"], "never_seen_mar": strangers["mar"]}
    return {column: row[column] for column in SCORES}


def happened(events: pl.DataFrame, nodes: int) -> Pairs:
    """Return the ordered pairs with a communication among `events`."""
    came = events.filter(pl.col("kind") == COMMUNICATION_KIND)
    return Pairs(nodes, np.unique(pair_keys(came["u"].to_numpy(), came["v"].to_numpy(), nodes)))


@dataclass(frozen=True)
class Given:
    """Forecast probabilities and outcomes of M pairs, each of which represents `weight` pairs."""

    probability: np.ndarray  # (M)
    outcome: np.ndarray  # (M) bool
    weight: np.ndarray  # (M)


def habit_forecast(past: pl.DataFrame, came: Pairs, days: int) -> Given:
    """Return the habit baseline: each pair's share of past days with a meeting; last, all other pairs.

    The average pair's share enters each probability as one day of evidence.
    """
    nodes = came.nodes
    every_pair = nodes * (nodes - 1)
    met = past.filter(pl.col("kind") == COMMUNICATION_KIND).select(
        "u", "v", day=pl.col("created_at").dt.date()
    )
    met = met.unique().group_by("u", "v").len("days")
    keys = pair_keys(met["u"].to_numpy(), met["v"].to_numpy(), nodes)
    counted = np.union1d(keys, came.keys)
    shares = np.zeros(len(counted) + 1)
    shares[np.searchsorted(counted, keys)] = met["days"].to_numpy()
    average = shares.sum() / max(days * every_pair, 1)
    return Given(
        (shares + average) / (days + 1),
        np.append(np.isin(counted, came.keys), np.False_),
        np.append(np.ones(len(counted)), every_pair - len(counted)),
    )


def pair_scores(parts: Iterable[Given]) -> dict[str, float]:
    """Return log and Brier score over all ordered pairs of different nodes, given in parts."""
    logs = squares = pairs = 0.0
    for part in parts:
        probability = np.clip(part.probability, SMALLEST, 1 - SMALLEST)
        logs += (part.weight * np.where(part.outcome, np.log(probability), np.log1p(-probability))).sum()
        squares += (part.weight * np.square(probability - part.outcome)).sum()
        pairs += part.weight.sum()
    return {"log_score": float(logs / pairs), "brier": float(squares / pairs)}
