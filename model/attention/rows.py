"""Temporal attention S as sparse rows: who a node's neighbours are, and how much each of them counts.

A row keeps its neighbours in the order they joined, in slots that all seeds fill on their own; slots beyond
a seed's own neighbours are marked absent and change no value. Sums over slots run in slot order, so that a
seed's numbers do not depend on how wide the rows of the seeds beside it are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
from torch import Tensor

from model.attention.start import Edges

ABSENT = -1e30  # added where there is no neighbour: its softmax weight is 0 and it never is the maximum
NOBODY = -1


def entries_of(edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both directions of every edge as node, neighbour and edge type, by node, then neighbour: (2E) each."""
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
        """Rows of a graph per seed: neighbours in the order of their numbers, each row uniform by type."""
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
        """S as (S, N, N, r)."""
        seeds, nodes, _, edge_types = self.values.shape
        index = torch.from_numpy(np.maximum(self.order, 0)).unsqueeze(3).expand(-1, -1, -1, edge_types)
        used = torch.from_numpy(self.order != NOBODY).unsqueeze(3)
        out = self.values.new_zeros(seeds, nodes, nodes, edge_types)
        return out.scatter_add_(2, index, self.values * used)

    def neighbours(self, u: int, v: int) -> tuple[np.ndarray, int]:
        """The neighbours of u and of v: (S, 2, K) with NOBODY as padding, and K ≥ 1."""
        width = max(int(self.count[:, u].max()), int(self.count[:, v].max()), 1)
        return self.order[:, (u, v), :width], width

    def slot(self, node: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Where `other` is in the row of `node` (0 where it is not), and whether it is there: both (S)."""
        if (node, other) not in self.looked_up:
            same = self.order[:, node] == other  # (S, C)
            self.looked_up[node, other] = same.argmax(1), same.any(1)
        return self.looked_up[node, other]

    def join(self, u: int, v: int) -> None:
        """Give v a slot in u's row and u one in v's, in every seed that has none."""
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
        """A copy for some of the seeds."""
        return type(self)(self.order[rows], self.count[rows], self.values[rows], self.bias[rows])

    def nonzero(self) -> tuple[np.ndarray, ...]:
        """Entries that are not zero: seed, u, v, edge type and weight, each (E), in the order of rows."""
        values = self.values.numpy()
        s, u, slot, edge_type = np.nonzero(values)
        return s, u, self.order[s, u, slot], edge_type, values[s, u, slot, edge_type]

    def take(self, other: Self, row: int) -> None:
        """Take over seed `row`; who is a neighbour in which slot depends on the stream alone."""
        self.values[row] = other.values[row]

    def tensors(self) -> dict[str, Tensor]:
        """Everything of it by name, for a file."""
        return {
            "attention.order": torch.from_numpy(self.order),
            "attention.count": torch.from_numpy(self.count),
            "attention.values": self.values,
            "attention.bias": self.bias,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The rows that gave `tensors`."""
        return cls(
            tensors["attention.order"].numpy().copy(),
            tensors["attention.count"].numpy().copy(),
            tensors["attention.values"],
            tensors["attention.bias"],
        )

    def flat(self) -> tuple[Tensor, Tensor]:
        """Values and bias with a row per seed and node: (S·N, C, r), views."""
        return self.values.flatten(0, 1), self.bias.flatten(0, 1)

    def widen(self) -> None:
        """Double the slots; new ones are empty."""
        seeds, nodes, slots, edge_types = self.values.shape
        self.order = np.concatenate([self.order, np.full_like(self.order, NOBODY)], axis=2)
        empty = self.values.new_zeros(seeds, nodes, slots, edge_types)
        self.values = torch.cat([self.values, empty], dim=2)
        self.bias = torch.cat([self.bias, empty + ABSENT], dim=2)


def pair_by_rows(pair: Tensor) -> np.ndarray:
    """What belongs to u and v of every seed (S, 2, r') by rows, a view: (S·2, r')."""
    return pair.flatten(0, 1).numpy()
