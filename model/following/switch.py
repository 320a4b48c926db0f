"""Promotion of new people: when their model is not worse than the old one on the events that both follow."""

from datetime import date
from typing import cast

import polars as pl

from model.following.lane import Lane
from pipeline.following.rule import JUDGED_DAYS
from pipeline.following.window import window_until


def is_not_worse(challenger: Lane, serving: Lane, day: date) -> bool:
    """Return whether the challenger ranked the last seven days' events that both follow at least as well.

    Ranks are relative to the number of candidates, which may differ. Without such an event, return True.
    """
    both = {name.lower() for name in challenger.choice.names} & {
        name.lower() for name in serving.choice.names
    }
    one, other = (relative_rank(lane, day, both) for lane in (challenger, serving))
    return one is None or other is None or one <= other


def relative_rank(lane: Lane, day: date, people: set[str]) -> float | None:
    """Return the mean relative rank of the last seven days' events among `people` (0: best), or None."""
    nodes = [node for node, name in enumerate(lane.choice.names) if name.lower() in people]
    parts = []
    for one in window_until(day, JUDGED_DAYS):
        events = lane.days.of(one)[0].with_row_index("position")
        ranks = lane.ranks(one).join(
            events.select(pl.col("position").cast(pl.Int64), "u", "v"), on="position"
        )
        parts.append(ranks.filter(pl.col("u").is_in(nodes) & pl.col("v").is_in(nodes)))
    mean = pl.concat(parts).select(((pl.col("rank_v") + pl.col("rank_u")) / 2).mean()).item()
    return None if mean is None else cast("float", mean) / max(len(lane.choice.names) - 1, 1)
