"""Attention S as rows of their own width: memory grows with the edges, however wide the widest row is.

A row is a stretch of a pool that all rows of a seed share. A row that is full moves to a stretch twice as
long at the pool's end; the pool is packed again when it grows. A hash table finds the slot of a pair, so that
a hub with ten thousand neighbours costs no search. Slots are in the order of joining, as in `AttentionRows`.
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

    first: np.ndarray  # (N) int64: where each row starts
    count: np.ndarray  # (N) int64: slots in use
    room: np.ndarray  # (N) int64: slots of the row's stretch
    node: np.ndarray  # (M) int32: the neighbour in each slot
    value: np.ndarray  # (r, M): S_ui; a row lies together for each edge type, for vector instructions
    near: np.ndarray  # (r, M) bool: whether it is a neighbour by this edge type
    table: np.ndarray  # (2^h, 2) int32: row and slot of a pair by hashing, NOBODY where empty
    used: np.ndarray  # (2) int64: slots of the pool that are given to rows, pairs in the table


@inlined
def place_of(pool: Pool, node: int, other: int | np.int64) -> np.int64:
    """Where a pair is in the hash table, or where it would be put."""
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
    """Where `other` is in the row of `node`, NOBODY if it is not there."""
    at = place_of(pool, node, other)
    return np.int64(NOBODY if pool.table[at, 0] == NOBODY else pool.table[at, 1])


@compiled
def join(pool: Pool, node: int, other: int) -> np.int64:
    """The slot of `other` in the row of `node`, made if there is none. The pool has the room for it."""
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
    """Give the row of `node` a longer stretch at the end of the pool; new slots are empty."""
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
    """Copy all rows of `old` into the empty `new`, one after another."""
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
    """Put every pair into the empty hash table."""
    for node in range(len(pool.first)):
        for slot in range(pool.count[node]):
            at = place_of(pool, node, pool.node[pool.first[node] + slot])
            pool.table[at, 0], pool.table[at, 1] = node, slot


def empty_pool(nodes: int, slots: int, pairs: int, edge_types: int) -> Pool:
    """A pool without rows that has room for so many slots and, in its table, for so many pairs."""
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
    """The pool with room for every event between `nodes` (E) to join its two, itself if it has it.

    Called between compiled passes, which therefore never allocate. Room grows by half: amortized O(1).
    """
    ends, times = np.unique(nodes, return_counts=True)
    # A row that may become full moves at most to twice what it then needs, and leaves at most as much behind.
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
    if not wider:  # the table tells slots of rows, wherever these are
        return grown._replace(table=pool.table)
    fill_table(grown)
    return grown


@dataclass
class Pages:
    """S of every seed, a pool each."""

    pools: list[Pool]

    @classmethod
    def from_edges(cls, graphs: Sequence[Edges], nodes: int, edge_types: int, dtype: torch.dtype) -> Self:
        """Rows of a graph per seed: neighbours in the order of their numbers, each row uniform by type."""
        if dtype != torch.float32:
            raise ValueError(f"dtype takes float32 in a network of {nodes:,} nodes, not {dtype}")
        return cls([pool_of(edges, nodes, edge_types) for edges in graphs])

    @property
    def edge_types(self) -> int:
        """How many values an entry has."""
        return len(self.pools[0].value)

    def of_seeds(self, rows: list[int]) -> Self:
        """A copy for some of the seeds."""
        return type(self)([Pool(*(array.copy() for array in self.pools[row])) for row in rows])

    def take(self, other: Self, row: int) -> None:
        """Take over seed `row` of pages that move no more."""
        self.pools[row] = other.pools[row]

    def entries(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of seed `row`, in the order of rows and slots: u, v (E each), values and nearness (E, r each)."""
        pool = self.pools[row]
        u = np.repeat(np.arange(len(pool.count)), pool.count)
        before = np.cumsum(pool.count) - pool.count
        at = np.arange(len(u)) - before[u] + pool.first[u]
        return u, pool.node[at], pool.value[:, at].T, pool.near[:, at].T

    def nonzero(self) -> tuple[np.ndarray, ...]:
        """Entries that are not zero: seed, u, v, edge type and weight, each (E), in the order of rows."""
        parts = []
        for row in range(len(self.pools)):
            u, v, values, _ = self.entries(row)
            entry, edge_type = np.nonzero(values)
            parts.append((np.full(len(entry), row), u[entry], v[entry], edge_type, values[entry, edge_type]))
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def dense(self) -> Tensor:
        """S as (S, N, N, r), for small networks."""
        nodes = len(self.pools[0].count)
        out = torch.zeros(len(self.pools), nodes, nodes, self.edge_types)
        for row in range(len(self.pools)):
            u, v, values, _ = self.entries(row)
            out[row, u, v] = torch.from_numpy(values)
        return out

    def tensors(self) -> dict[str, Tensor]:
        """Everything of it by name, for a file: seeds one after another."""
        parts = [self.entries(row) for row in range(len(self.pools))]
        return {
            "attention.count": torch.from_numpy(np.stack([pool.count for pool in self.pools])),
            "attention.node": torch.from_numpy(np.concatenate([v for _, v, _, _ in parts])),
            "attention.value": torch.from_numpy(np.concatenate([values for _, _, values, _ in parts])),
            "attention.near": torch.from_numpy(np.concatenate([near for _, _, _, near in parts])),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The pages that gave `tensors`."""
        count, *arrays = (tensors[f"attention.{name}"].numpy() for name in ("count", "node", "value", "near"))
        stops = np.cumsum(count.sum(1))
        return cls(
            [
                filled_pool(of_seed, *(array[stop - of_seed.sum() : stop] for array in arrays))
                for of_seed, stop in zip(count, stops, strict=True)
            ]
        )


def filled_pool(count: np.ndarray, node: np.ndarray, value: np.ndarray, near: np.ndarray) -> Pool:
    """A pool of rows without spare slots, from counts (N) and entries (E, …) in the order of rows."""
    pairs = len(node)
    pool = empty_pool(len(count), pairs, pairs, value.shape[1])
    pool.count[:] = pool.room[:] = count
    pool.first[:] = np.cumsum(count) - count
    pool.node[:], pool.value[:], pool.near[:] = node, value.T, near.T
    pool.used[:] = pairs
    fill_table(pool)
    return pool


def pool_of(edges: Edges, nodes: int, edge_types: int) -> Pool:
    """A pool of a graph: each row uniform over its neighbours by type."""
    node, other, edge_type = entries_of(edges)
    of_type = np.bincount(node * edge_types + edge_type, minlength=nodes * edge_types)
    value = np.zeros((len(node), edge_types), np.float32)
    value[np.arange(len(node)), edge_type] = np.float32(1.0) / of_type[node * edge_types + edge_type].astype(
        np.float32
    )
    return filled_pool(np.bincount(node, minlength=nodes), other.astype(np.int32), value, value != 0)
