"""Temporal attention S as sparse rows: each node's neighbours and their weights.

A row stores neighbours in order of joining, in slots assigned per seed. Slots beyond a seed's own neighbours
are marked absent and do not affect any value. Sums over slots run in slot order, so that a seed's results do
not depend on the row width of other seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
from torch import Tensor

from model.attention.start import Edges

ABSENT = -1e30  # added where there is no neighbour: softmax weight 0, never the maximum
NOBODY = -1


def entries_of(edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return node, neighbour and type of both directions of every edge, sorted: (2E) each."""
    node = torch.cat([edges.i, edges.j]).numpy()
    other = torch.cat([edges.j, edges.i]).numpy()
    order = np.lexsort((other, node))
    return node[order], other[order], edges.type.repeat(2).numpy()[order]


@dataclass
class AttentionRows:
    """S of every seed. S: seeds, N: nodes, C: slots, r: edge types."""

    order: np.ndarray  # (S, N, C) int64: the neighbour in each slot, NOBODY beyond
    count: np.ndarray  # (S, N) int64: slots in use
    values: Tensor  # (S, N, C, r): S_ui
    bias: Tensor  # (S, N, C, r): 0 for a neighbour by this edge type, ABSENT otherwise
    looked_up: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def from_edges(cls, graphs: Sequence[Edges], nodes: int, edge_types: int, dtype: torch.dtype) -> Self:
        """Build rows from one graph per seed: neighbours by node number, each row uniform per edge type."""
        entries = [entries_of(edges) for edges in graphs]
        count = np.stack([np.bincount(node, minlength=nodes) for node, _, _ in entries])  # (S, N)
        slots = max(int(count.max(initial=0)), 1)
        order = np.full((len(graphs), nodes, slots), NOBODY)
        values = torch.zeros(len(graphs), nodes, slots, edge_types)
        for seed, (node, other, edge_type) in enumerate(entries):
            slot = np.arange(len(node)) - np.repeat(count[seed].cumsum() - count[seed], count[seed])
            order[seed, node, slot] = other
            values[seed, node, slot, edge_type] = 1.0
        values /= values.sum(2, keepdim=True).clamp_min(1)
        return cls(order, count, values.to(dtype), torch.where(values != 0, 0.0, ABSENT).to(dtype))

    def dense(self) -> Tensor:
        """Return S as a dense tensor (S, N, N, r)."""
        seeds, nodes, _, edge_types = self.values.shape
        index = torch.from_numpy(np.maximum(self.order, 0)).unsqueeze(3).expand(-1, -1, -1, edge_types)
        used = torch.from_numpy(self.order != NOBODY).unsqueeze(3)
        out = self.values.new_zeros(seeds, nodes, nodes, edge_types)
        return out.scatter_add_(2, index, self.values * used)

    def neighbours(self, u: int, v: int) -> tuple[np.ndarray, int]:
        """Return the neighbours of u and v, (S, 2, K) padded with NOBODY, and K ≥ 1."""
        width = max(int(self.count[:, u].max()), int(self.count[:, v].max()), 1)
        return self.order[:, (u, v), :width], width

    def slot(self, node: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the slot of `other` in the row of `node`, 0 if absent, and a mask of presence: (S) each."""
        if (node, other) not in self.looked_up:
            same = self.order[:, node] == other  # (S, C)
            self.looked_up[node, other] = same.argmax(1), same.any(1)
        return self.looked_up[node, other]

    def join(self, u: int, v: int) -> None:
        """Allocate slots for v in u's row and for u in v's row, in every seed where they are missing."""
        for node, other in ((u, v), (v, u)):
            _, present = self.slot(node, other)
            if present.all():
                continue
            if int(self.count[:, node].max()) == self.order.shape[2]:
                self.widen()
            seeds = np.nonzero(~present)[0]
            self.order[seeds, node, self.count[seeds, node]] = other
            self.count[seeds, node] += 1
            del self.looked_up[node, other]

    def of_seeds(self, rows: list[int]) -> Self:
        """Return a copy with the seeds at `rows`."""
        return type(self)(self.order[rows], self.count[rows], self.values[rows], self.bias[rows])

    def nonzero(self) -> tuple[np.ndarray, ...]:
        """Return the non-zero entries in row order: seed, u, v, edge type and weight, (E) each."""
        values = self.values.numpy()
        s, u, slot, edge_type = np.nonzero(values)
        return s, u, self.order[s, u, slot], edge_type, values[s, u, slot, edge_type]

    def take(self, other: Self, row: int) -> None:
        """Copy the values of seed `row`; the assignment of slots does not depend on the weights."""
        self.values[row] = other.values[row]

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name, for a file."""
        return {
            "attention.order": torch.from_numpy(self.order),
            "attention.count": torch.from_numpy(self.count),
            "attention.values": self.values,
            "attention.bias": self.bias,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """Restore rows from the result of `tensors`."""
        return cls(
            tensors["attention.order"].numpy().copy(),
            tensors["attention.count"].numpy().copy(),
            tensors["attention.values"],
            tensors["attention.bias"],
        )

    def flat(self) -> tuple[Tensor, Tensor]:
        """Return views of values and bias with a row per seed and node: (S·N, C, r)."""
        return self.values.flatten(0, 1), self.bias.flatten(0, 1)

    def widen(self) -> None:
        """Double the number of slots; new slots are empty."""
        seeds, nodes, slots, edge_types = self.values.shape
        self.order = np.concatenate([self.order, np.full_like(self.order, NOBODY)], axis=2)
        empty = self.values.new_zeros(seeds, nodes, slots, edge_types)
        self.values = torch.cat([self.values, empty], dim=2)
        self.bias = torch.cat([self.bias, empty + ABSENT], dim=2)


def pair_by_rows(pair: Tensor) -> np.ndarray:
    """Return a view of (S, 2, r') with one row per seed and end: (S·2, r')."""
    return pair.flatten(0, 1).numpy()
