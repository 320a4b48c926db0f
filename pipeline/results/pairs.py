"""Pairs of nodes: how many events join each, as a list and as a matrix."""

import numpy as np
import polars as pl

from pipeline.event_table import EventTable


def training_events(table: EventTable, kind: str | None = None) -> pl.DataFrame:
    """The events before the test period, of both kinds or of one."""
    events = table.events.filter(pl.col("split") != "test")
    return events if kind is None else events.filter(pl.col("kind") == kind)


def pair_list(events: pl.DataFrame) -> pl.DataFrame:
    """Each pair u < v with events in either direction, and their number `len`; the most frequent first."""
    return (
        events.select(u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .group_by("u", "v")
        .len()
        .sort("len", "u", "v", descending=[True, False, False])
    )


def pair_counts(events: pl.DataFrame, nodes: int) -> np.ndarray:
    """How many events join each pair, in either direction: (N, N), symmetric."""
    u, v, many = (column.to_numpy() for column in pair_list(events))
    counts = np.zeros((nodes, nodes), np.int32)
    counts[u, v] = counts[v, u] = many
    return counts
