"""Pairs of nodes: how many events join each, and values of pairs as arrays over those that meet."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.names import TEST


def training_events(table: EventTable, kind: str | None = None) -> pl.DataFrame:
    """The events before the test period, of both kinds or of one."""
    events = table.events.filter(pl.col("split") != TEST)
    return events if kind is None else events.filter(pl.col("kind") == kind)


def pair_list(events: pl.DataFrame) -> pl.DataFrame:
    """Each pair u < v with events in either direction, and their number `len`; the most frequent first."""
    return (
        events.select(u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .group_by("u", "v")
        .len()
        .sort("len", "u", "v", descending=[True, False, False])
    )


def pair_keys(u: np.ndarray, v: np.ndarray, nodes: int) -> np.ndarray:
    """Ordered pairs as u·N + v."""
    return u.astype(np.int64) * nodes + v


@dataclass(frozen=True)
class Pairs:
    """Ordered pairs of different nodes, most often those that ever meet: places 0…P−1 of arrays.

    A row of the matrix that nobody makes is a stretch of places: the partners of node u are
    `partner[first[u]:first[u + 1]]`.
    """

    nodes: int
    keys: np.ndarray  # (P,) int64, as u·N + v, rising

    @classmethod
    def of(cls, nodes: int, *meetings: pl.DataFrame) -> "Pairs":
        """Those that the columns u and v of any frame name, in both directions."""
        met = pl.concat([frame.select(pl.col("u", "v").cast(pl.Int64)) for frame in meetings]).unique()
        u, v = met.filter(pl.col("u") != pl.col("v")).to_numpy().T
        return cls(nodes, np.union1d(pair_keys(u, v, nodes), pair_keys(v, u, nodes)))

    def place(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Where each pair is; every one must be there."""
        return np.searchsorted(self.keys, pair_keys(u, v, self.nodes))

    @cached_property
    def first(self) -> np.ndarray:
        """Where the row of each node begins, and the end of the last: (N + 1,)."""
        return np.searchsorted(self.keys, np.arange(self.nodes + 1) * self.nodes)

    @cached_property
    def partner(self) -> np.ndarray:
        """The second node of each pair: (P,)."""
        return self.keys % self.nodes


def both_ways(edges: pl.DataFrame, pairs: Pairs) -> np.ndarray:
    """The places among pairs of edges between different nodes, all forth and then all back."""
    u, v = edges.filter(pl.col("u") != pl.col("v")).select("u", "v").to_numpy().T
    return np.concatenate([pairs.place(u, v), pairs.place(v, u)])
