"""Pairs of nodes: event counts, and a sparse (CSR-like) index of the pairs that occur."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.names import TEST


def training_events(table: EventTable, kind: str | None = None) -> pl.DataFrame:
    """Return the events before the test period, of both kinds or of one."""
    events = table.events.filter(pl.col("split") != TEST)
    return events if kind is None else events.filter(pl.col("kind") == kind)


def pair_list(events: pl.DataFrame) -> pl.DataFrame:
    """Return each pair u < v with its number of events `len` in either direction, most frequent first."""
    return (
        events.select(u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .group_by("u", "v")
        .len()
        .sort("len", "u", "v", descending=[True, False, False])
    )


def pair_keys(u: np.ndarray, v: np.ndarray, nodes: int) -> np.ndarray:
    """Encode ordered pairs as u·N + v."""
    return u.astype(np.int64) * nodes + v


@dataclass(frozen=True)
class Pairs:
    """A sparse index of ordered pairs of different nodes, usually those that occur: positions 0…P−1.

    As in CSR, the partners of node u are `partner[first[u]:first[u + 1]]`.
    """

    nodes: int
    keys: np.ndarray  # (P,) int64, u·N + v, sorted

    @classmethod
    def of(cls, nodes: int, *meetings: pl.DataFrame) -> "Pairs":
        """Build the index from the columns u and v of all frames, in both directions, without self-loops."""
        met = pl.concat([frame.select(pl.col("u", "v").cast(pl.Int64)) for frame in meetings]).unique()
        u, v = met.filter(pl.col("u") != pl.col("v")).to_numpy().T
        return cls(nodes, np.union1d(pair_keys(u, v, nodes), pair_keys(v, u, nodes)))

    def place(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the position of each pair; every pair must be in the index (not checked)."""
        return np.searchsorted(self.keys, pair_keys(u, v, self.nodes))

    @cached_property
    def first(self) -> np.ndarray:
        """Start position of each node's row, and the end of the last: (N + 1,)."""
        return np.searchsorted(self.keys, np.arange(self.nodes + 1) * self.nodes)

    @cached_property
    def partner(self) -> np.ndarray:
        """The second node of each pair: (P,)."""
        return self.keys % self.nodes


def both_ways(edges: pl.DataFrame, pairs: Pairs) -> np.ndarray:
    """Return the positions of the edges between different nodes, all forward, then all reversed."""
    u, v = edges.filter(pl.col("u") != pl.col("v")).select("u", "v").to_numpy().T
    return np.concatenate([pairs.place(u, v), pairs.place(v, u)])
