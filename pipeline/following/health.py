"""Health checks of following: pure functions that return findings as sentences; an empty list is healthy."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from statistics import median

import polars as pl

from pipeline.following.scores import ONLINE
from pipeline.following.window import end_of
from pipeline.names import RECENCY

LARGEST_DRIFT = 3.0  # factor by which a day's events may exceed or fall below the usual
USUAL_DAYS = 14  # the usual is the median of so many days before
LOST_DAYS = 7  # consecutive days worse than recency that make a finding
OLDEST_DAYS = 2  # age of the newest followed day that makes a finding


def rate_drift(events: Mapping[date, int]) -> list[str]:
    """Return a finding if the newest day has far more or fewer events than usual; `events` is by day."""
    *before, newest = sorted(events)
    if not before:
        return []
    usual = median(events[day] for day in before[-USUAL_DAYS:])
    if usual / LARGEST_DRIFT <= events[newest] <= usual * LARGEST_DRIFT:
        return []
    return [f"{newest} has {events[newest]:,} events of those followed, usual are {usual:,.0f}"]


def lost_to_recency(scores: pl.DataFrame) -> list[str]:
    """Return the models that ranked worse than recency, online, on each of the last seven scored days.

    `scores` are rows of `forecast_scores`; a day without an event does not count as worse.
    """
    online = scores.filter(pl.col("how") == ONLINE)
    recency = online.filter(pl.col("predictor") == RECENCY).select("as_of", recency="mar")
    models = online.filter("learns").join(recency, on="as_of", how="left").sort("as_of")
    lost = pl.col("mar") > pl.col("recency")
    return [
        f"{variant} has ranked worse than recency for {LOST_DAYS} days"
        for (variant,), days in models.group_by("predictor", maintain_order=True)
        if days.height >= LOST_DAYS and days.tail(LOST_DAYS).select(lost.fill_null(value=False).all()).item()
    ]


def behind(followed: Sequence[date], now: datetime) -> list[str]:
    """Return a finding if no day is followed, or the newest ended two days or more before `now` (UTC)."""
    if not followed:
        return ["no day is followed yet"]
    age = now.replace(tzinfo=None) - end_of(followed[-1])
    return [f"the newest followed day is {followed[-1]}"] if age.days >= OLDEST_DAYS else []
