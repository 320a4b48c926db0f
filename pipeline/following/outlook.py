"""A model's log λ of every ordered pair at a moment, without storing all N × N values.

In a network of up to `EVERYONE` nodes, the row of a node holds all nodes. In a larger one it holds the
relevant nodes with weight 1 and a sample of the others, weighted to represent all of them. So a sum over all
pairs costs as much as the stored entries.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from pipeline.results.pairs import Pairs

EVERYONE = 1024
FEW = 64  # evenly spaced nodes that represent the rest: more than a forecast lists
AT_ONCE = 1 << 20  # entries of a block: with up to `EVERYONE` nodes, all rows form one block


class Row(NamedTuple):
    """The candidates of one node in ascending order; the node itself has weight 0."""

    partner: np.ndarray  # (K)
    weight: np.ndarray  # (K) number of nodes that each represents
    log_intensity: np.ndarray  # (K)
    largest: float  # log λ in the row
    total: float  # Σ exp(log λ − largest) over everyone but the node

    @classmethod
    def of(cls, node: int, partner: np.ndarray, weight: np.ndarray, log_intensity: np.ndarray) -> "Row":
        """Return the row of `node`, with the largest log λ and the weighted sum over its entries."""
        logs = np.where(partner == node, -np.inf, log_intensity.astype(np.float64))
        largest = logs.max()
        return cls(partner, weight, logs, largest, (weight * np.exp(logs - largest)).sum())


@dataclass(frozen=True)
class Block:
    """Rows of B nodes in order, padded to the longest: W entries each.

    Padding has the number N, which no node has.
    """

    everyone: int  # N
    nodes: np.ndarray  # (B)
    partner: np.ndarray  # (B, W)
    weight: np.ndarray  # (B, W) float64; 0 for the node itself, and for padding
    log_intensity: np.ndarray  # (B, W) float64; −∞ for these
    largest: np.ndarray  # (B, 1)
    total: np.ndarray  # (B, 1)

    @property
    def share(self) -> np.ndarray:
        """Share of each entry in λ summed over all nodes: (B, W)."""
        return np.exp(self.log_intensity - self.largest) / self.total

    def values(self, pairs: Pairs, values: np.ndarray) -> np.ndarray:
        """Return the `values` (P) of `pairs` at their entries: (B, W), zero elsewhere."""
        begin, end = pairs.first[self.nodes[0]], pairs.first[self.nodes[-1] + 1]
        keys = pairs.keys[begin:end]
        width = self.everyone + 1  # padding has a number, too
        held = (self.nodes[:, None] * width + self.partner).ravel()  # ascending
        places = np.searchsorted(held, wanted := keys + keys // self.everyone)
        is_held = held[np.minimum(places, len(held) - 1)] == wanted
        result = np.zeros(len(held), values.dtype)
        result[places[is_held]] = values[begin:end][is_held]
        return result.reshape(self.partner.shape)


@dataclass(frozen=True)
class Outlook:
    """log λ of N rows, one after the other: P entries."""

    first: np.ndarray  # (N + 1) where each row begins, and the end of the last
    partner: np.ndarray  # (P) int32
    weight: np.ndarray  # (P) float32
    log_intensity: np.ndarray  # (P) float32
    largest: np.ndarray  # (N)
    total: np.ndarray  # (N)

    @classmethod
    def whole(cls, log_intensity: np.ndarray) -> Self:
        """Build the outlook from log λ (N, N) of all pairs, −∞ on the diagonal."""
        nodes = len(log_intensity)
        logs = log_intensity.astype(np.float64)
        largest = logs.max(1)
        return cls(
            np.arange(nodes + 1) * nodes,
            np.tile(np.arange(nodes, dtype=np.int32), nodes),
            (1 - np.eye(nodes, dtype=np.float32)).ravel(),
            log_intensity.astype(np.float32).ravel(),
            largest,
            np.exp(logs - largest[:, None]).sum(1),
        )

    @classmethod
    def of_rows(cls, rows: Iterable[Row]) -> Self:
        """Build the outlook from the row of each node, in order."""
        partner, weight, logs, largest, total = zip(
            *(
                (
                    row.partner.astype(np.int32),
                    row.weight.astype(np.float32),
                    row.log_intensity.astype(np.float32),
                    row.largest,
                    row.total,
                )
                for row in rows
            ),
            strict=True,
        )
        first = np.concatenate([[0], np.cumsum([len(of_row) for of_row in partner])])
        places = [np.concatenate(part) for part in (partner, weight, logs)]
        return cls(first, *places, np.array(largest), np.array(total))

    @property
    def nodes(self) -> int:
        """Number of nodes N."""
        return len(self.largest)

    @property
    def is_whole(self) -> bool:
        """Return whether every row holds all nodes."""
        return len(self.partner) == self.nodes**2

    def blocks(self, every: int = 1, begin: int = 0) -> Iterator[Block]:
        """Yield the rows in blocks that fit into memory; only every `every`-th row, from `begin` on."""
        nodes = np.arange(begin, self.nodes, every)
        lengths = np.diff(self.first)[nodes]
        start = 0
        while start < len(nodes):
            widest = np.maximum.accumulate(lengths[start:])
            fits = np.count_nonzero(widest * np.arange(1, len(widest) + 1) <= AT_ONCE)
            stop = start + max(fits, 1)
            yield self.block(nodes[start:stop])
            start = stop

    def block(self, nodes: np.ndarray) -> Block:
        """Return the rows of `nodes` (B), which must be in ascending order."""
        begin, end = self.first[nodes], self.first[nodes + 1]
        width = int((end - begin).max())
        places = begin[:, None] + np.arange(width)  # (B, W)
        is_empty = places >= end[:, None]
        places[is_empty] = 0
        return Block(
            self.nodes,
            nodes,
            np.where(is_empty, self.nodes, self.partner[places]),
            np.where(is_empty, 0.0, self.weight[places].astype(np.float64)),
            np.where(is_empty, -np.inf, self.log_intensity[places].astype(np.float64)),
            self.largest[nodes, None],
            self.total[nodes, None],
        )
