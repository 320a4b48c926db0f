"""Attention S as rows of variable width: memory grows with the number of edges, not with the widest row.

A row is a contiguous range of a pool shared by all rows of a seed. A full row moves to a range of twice the
length at the pool's end; the pool is compacted when it grows. A hash table maps a pair to its slot, so that
lookups do not search a hub's row. Slots are in the order of joining, as in `AttentionRows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from model.attention.rows import entries_of
from model.attention.start import Edges
from model.large.compiled import compiled, inlined

NOBODY = -1
SMALLEST_ROW = 4
MIX = np.uint64(0x9E3779B97F4A7C15)


class Pool(NamedTuple):
    """S of one seed. N: nodes, M: slots of the pool, r: edge types."""

    first: np.ndarray  # (N) int64: start of each row
    count: np.ndarray  # (N) int64: slots in use
    room: np.ndarray  # (N) int64: capacity of each row
    node: np.ndarray  # (M) int32: the neighbour in each slot
    value: np.ndarray  # (r, M): S_ui; a row is contiguous per edge type, for SIMD
    near: np.ndarray  # (r, M) bool: adjacent by this edge type
    table: np.ndarray  # (2^h, 2) int32: hash table of row and slot of a pair, NOBODY where empty
    used: np.ndarray  # (2) int64: allocated slots of the pool, pairs in the table


@inlined
def place_of(pool: Pool, node: int, other: int | np.int64) -> np.int64:
    """Return the position of a pair in the hash table, or its insertion position."""
    mask = np.uint64(len(pool.table) - 1)
    key = np.uint64(node) * np.uint64(len(pool.first)) + np.uint64(other)
    at = (key * MIX >> np.uint64(32)) & mask
    while pool.table[at, 0] != NOBODY and (
        pool.table[at, 0] != node or pool.node[pool.first[node] + pool.table[at, 1]] != other
    ):
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@inlined
def slot_in_row(pool: Pool, node: int, other: int | np.int64) -> np.int64:
    """Return the slot of `other` in the row of `node`, NOBODY if absent."""
    at = place_of(pool, node, other)
    return np.int64(NOBODY if pool.table[at, 0] == NOBODY else pool.table[at, 1])


@compiled
def join(pool: Pool, node: int, other: int) -> np.int64:
    """Return the slot of `other` in the row of `node`, added if absent; the pool must have room."""
    at = place_of(pool, node, other)
    if pool.table[at, 0] != NOBODY:
        return np.int64(pool.table[at, 1])
    slot = pool.count[node]
    if slot == pool.room[node]:
        move_row(pool, node, max(2 * slot, SMALLEST_ROW))
    pool.node[pool.first[node] + slot] = other
    pool.count[node] += 1
    pool.table[at, 0], pool.table[at, 1] = node, slot
    pool.used[1] += 1
    return np.int64(slot)


@compiled
def move_row(pool: Pool, node: int, room: int) -> None:
    """Move the row of `node` to a range of `room` slots at the pool's end; new slots are empty."""
    start, before, count = pool.used[0], pool.first[node], pool.count[node]
    for slot in range(room):
        for t in range(len(pool.value)):
            held = slot < count
            pool.value[t, start + slot] = pool.value[t, before + slot] if held else np.float32(0.0)
            pool.near[t, start + slot] = pool.near[t, before + slot] if held else False
        pool.node[start + slot] = pool.node[before + slot] if slot < count else NOBODY
    pool.first[node], pool.room[node] = start, room
    pool.used[0] += room


@compiled
def pack(old: Pool, new: Pool) -> None:
    """Copy all rows of `old` contiguously into the empty `new`."""
    place = 0
    for node in range(len(old.first)):
        start, count = old.first[node], old.count[node]
        new.first[node], new.count[node], new.room[node] = place, count, old.room[node]
        for slot in range(count):
            new.node[place + slot] = old.node[start + slot]
            for t in range(len(old.value)):
                new.value[t, place + slot] = old.value[t, start + slot]
                new.near[t, place + slot] = old.near[t, start + slot]
        place += old.room[node]
    new.used[0], new.used[1] = place, old.used[1]


@compiled
def fill_table(pool: Pool) -> None:
    """Insert every pair into the empty hash table."""
    for node in range(len(pool.first)):
        for slot in range(pool.count[node]):
            at = place_of(pool, node, pool.node[pool.first[node] + slot])
            pool.table[at, 0], pool.table[at, 1] = node, slot


def empty_pool(nodes: int, slots: int, pairs: int, edge_types: int) -> Pool:
    """Return an empty pool with capacity for `slots` and, in its hash table, for `pairs`."""
    return Pool(
        first=np.zeros(nodes, np.int64),
        count=np.zeros(nodes, np.int64),
        room=np.zeros(nodes, np.int64),
        node=np.full(slots, NOBODY, np.int32),
        value=np.zeros((edge_types, slots), np.float32),
        near=np.zeros((edge_types, slots), np.bool_),
        table=np.full((1 << max(2 * pairs - 1, 15).bit_length(), 2), NOBODY, np.int32),
        used=np.zeros(2, np.int64),
    )


def pool_with_room(pool: Pool, nodes: np.ndarray) -> Pool:
    """Return a pool with capacity for all events between `nodes` (E), the same one if it suffices.

    Called between compiled passes, which therefore never allocate. Capacity grows by half: amortized O(1).
    """
    ends, times = np.unique(nodes, return_counts=True)
    # A row that overflows needs at most twice its final size, and abandons at most as much.
    moving = pool.count[ends] + times > pool.room[ends]
    slots = int(pool.used[0] + 4 * (pool.room[ends] + times + SMALLEST_ROW)[moving].sum())
    pairs = int(pool.used[1] + len(nodes))
    if slots <= len(pool.node) and 2 * pairs <= len(pool.table):
        return pool
    live = int(pool.room.sum())
    slots = max(slots - int(pool.used[0]) + live, live + live // 2)
    wider = 2 * pairs > len(pool.table)
    grown = empty_pool(len(pool.first), slots, pairs if wider else 0, len(pool.value))
    pack(pool, grown)
    if not wider:  # the table stores slots within rows: still valid
        return grown._replace(table=pool.table)
    fill_table(grown)
    return grown


@dataclass
class Pages:
    """Attention S of every seed, one pool each."""

    pools: list[Pool]

    @classmethod
    def from_edges(cls, graphs: Sequence[Edges], nodes: int, edge_types: int, dtype: torch.dtype) -> Self:
        """Build pools from one graph per seed: neighbours by node number, each row uniform per edge type."""
        if dtype != torch.float32:
            raise ValueError(f"dtype takes float32 in a network of {nodes:,} nodes, not {dtype}")
        return cls([pool_of(edges, nodes, edge_types) for edges in graphs])

    @property
    def edge_types(self) -> int:
        """The number of edge types."""
        return len(self.pools[0].value)

    def of_seeds(self, rows: list[int]) -> Self:
        """Return a copy with the seeds at `rows`."""
        return type(self)([Pool(*(array.copy() for array in self.pools[row])) for row in rows])

    def take(self, other: Self, row: int) -> None:
        """Take seed `row` of `other` by reference; `other` must not change afterwards."""
        self.pools[row] = other.pools[row]

    def entries(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return u, v (E), values and adjacency (E, r) of seed `row`, in the order of rows and slots."""
        pool = self.pools[row]
        u = np.repeat(np.arange(len(pool.count)), pool.count)
        before = np.cumsum(pool.count) - pool.count
        at = np.arange(len(u)) - before[u] + pool.first[u]
        return u, pool.node[at], pool.value[:, at].T, pool.near[:, at].T

    def nonzero(self) -> tuple[np.ndarray, ...]:
        """Return the non-zero entries in row order: seed, u, v, edge type and weight, (E) each."""
        parts = []
        for row in range(len(self.pools)):
            u, v, values, _ = self.entries(row)
            entry, edge_type = np.nonzero(values)
            parts.append((np.full(len(entry), row), u[entry], v[entry], edge_type, values[entry, edge_type]))
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def dense(self) -> Tensor:
        """Return S as a dense tensor (S, N, N, r), for small networks."""
        nodes = len(self.pools[0].count)
        out = torch.zeros(len(self.pools), nodes, nodes, self.edge_types)
        for row in range(len(self.pools)):
            u, v, values, _ = self.entries(row)
            out[row, u, v] = torch.from_numpy(values)
        return out

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name, for a file; entries of all seeds are concatenated."""
        parts = [self.entries(row) for row in range(len(self.pools))]
        return {
            "attention.count": torch.from_numpy(np.stack([pool.count for pool in self.pools])),
            "attention.node": torch.from_numpy(np.concatenate([v for _, v, _, _ in parts])),
            "attention.value": torch.from_numpy(np.concatenate([values for _, _, values, _ in parts])),
            "attention.near": torch.from_numpy(np.concatenate([near for _, _, _, near in parts])),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """Restore pages from the result of `tensors`."""
        count, *arrays = (tensors[f"attention.{name}"].numpy() for name in ("count", "node", "value", "near"))
        stops = np.cumsum(count.sum(1))
        return cls(
            [
                filled_pool(of_seed, *(array[stop - of_seed.sum() : stop] for array in arrays))
                for of_seed, stop in zip(count, stops, strict=True)
            ]
        )


def filled_pool(count: np.ndarray, node: np.ndarray, value: np.ndarray, near: np.ndarray) -> Pool:
    """Return a pool without spare slots, from counts (N) and entries (E, …) in the order of rows."""
    pairs = len(node)
    pool = empty_pool(len(count), pairs, pairs, value.shape[1])
    pool.count[:] = pool.room[:] = count
    pool.first[:] = np.cumsum(count) - count
    pool.node[:], pool.value[:], pool.near[:] = node, value.T, near.T
    pool.used[:] = pairs
    fill_table(pool)
    return pool


def pool_of(edges: Edges, nodes: int, edge_types: int) -> Pool:
    """Return a pool of a graph, each row uniform over its neighbours by edge type."""
    node, other, edge_type = entries_of(edges)
    of_type = np.bincount(node * edge_types + edge_type, minlength=nodes * edge_types)
    value = np.zeros((len(node), edge_types), np.float32)
    value[np.arange(len(node)), edge_type] = np.float32(1.0) / of_type[node * edge_types + edge_type].astype(
        np.float32
    )
    return filled_pool(np.bincount(node, minlength=nodes), other.astype(np.int32), value, value != 0)
