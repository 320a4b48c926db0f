"""Predictors side by side on the same events: metrics, and how sure a difference is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from pipeline.names import HITS_AT, MAR, MRR, NEVER_SEEN, Metric
from pipeline.results.metrics import metric_aggregations

SHOWN = (MAR, HITS_AT[10], MRR)
DRAWS = 2000


def by_event(ranked: pl.DataFrame) -> pl.DataFrame:
    """Each event's metrics, the mean over seeds, in the events' order; from idx, rank_v and rank_u."""
    return ranked.group_by("idx").agg(metric_aggregations()).sort("idx")


@dataclass(frozen=True)
class Difference:
    """How much larger a metric is than another's on the same events, with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def difference(ours: pl.Series, theirs: pl.Series, days: pl.Series) -> Difference:
    """The mean of ours minus theirs. The interval draws whole days, for events of a day go together."""
    values = (ours - theirs).to_numpy()
    _, day = np.unique(days.to_numpy(), return_inverse=True)
    sums, counts = np.bincount(day, values), np.bincount(day)
    drawn = np.random.default_rng(0).integers(len(sums), size=(DRAWS, len(sums)))
    low, high = np.quantile(sums[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975])
    return Difference(float(values.mean()), float(low), float(high))


def comparison(of_events: Mapping[str, pl.DataFrame], events: pl.DataFrame) -> str:
    """The tables in Markdown: each predictor's metrics, and the first one's lead over the others.

    `of_events` has each predictor's metrics by event; `events` are the ranked events in the same order, with
    `pair` and `created_at`.
    """
    groups = {"all": pl.Series([True] * events.height), NEVER_SEEN: events["pair"] == NEVER_SEEN}
    (first, ours), *others = of_events.items()
    lines = ["| | events | predictor | MAR ↓ | HITS@10 ↑ | MRR ↑ |", "|---|---|---|---|---|---|"]
    for group, which in groups.items():
        for title, rows in of_events.items():
            values = (f"{rows.filter(which)[metric.name].mean():.3f}" for metric in SHOWN)
            lines.append(f"| {group} | {which.sum():,} | {title} | {' | '.join(values)} |")
    lines += [
        "",
        f"| {first} minus | | {' | '.join(metric.title for metric in SHOWN)} |",
        "|---|---|---|---|---|",
    ]
    for group, which in groups.items():
        days = events.filter(which)["created_at"].dt.date()
        for title, rows in others:

            def lead(metric: Metric, rows: pl.DataFrame = rows) -> str:
                return str(difference(ours.filter(which)[metric.name], rows.filter(which)[metric.name], days))  # noqa: B023

            lines.append(f"| {title} | {group} | {' | '.join(map(lead, SHOWN))} |")
    return "\n".join(lines)
