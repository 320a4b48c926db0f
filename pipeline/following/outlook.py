"""What a model expects of every ordered pair at a moment, without a place for each of N × N pairs.

In a network of up to `EVERYONE` nodes the row of a node holds everyone. In a larger one it holds those who
matter to the node, one by one, and some others, each of whom stands for as many of the rest as there are to
one of them. So a sum over all pairs costs as much as the places that there are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from pipeline.results.pairs import Pairs

EVERYONE = 1024
FEW = 64  # of the rest, spread evenly, who stand for it: more than a forecast lists
AT_ONCE = 1 << 20  # places of a block: where every row holds everyone, all rows are one


class Row(NamedTuple):
    """Whom the row of a node holds, in the order of their numbers; the node itself stands for none."""

    partner: np.ndarray  # (K)
    weight: np.ndarray  # (K) for how many each stands
    log_intensity: np.ndarray  # (K)
    largest: float  # log λ in the row
    total: float  # Σ exp(log λ − largest) over everyone but the node

    @classmethod
    def of(cls, node: int, partner: np.ndarray, weight: np.ndarray, log_intensity: np.ndarray) -> "Row":
        """The row of `node`, whose sum over everyone is that of those in it."""
        logs = np.where(partner == node, -np.inf, log_intensity.astype(np.float64))
        largest = logs.max()
        return cls(partner, weight, logs, largest, (weight * np.exp(logs - largest)).sum())


@dataclass(frozen=True)
class Block:
    """Some rows in their order, side by side and as wide as the longest: B nodes, W places.

    A place that a row leaves empty has the number N, which is nobody's.
    """

    everyone: int  # N
    nodes: np.ndarray  # (B)
    partner: np.ndarray  # (B, W)
    weight: np.ndarray  # (B, W) float64; 0 for the node itself, and for nobody
    log_intensity: np.ndarray  # (B, W) float64; −∞ there
    largest: np.ndarray  # (B, 1)
    total: np.ndarray  # (B, 1)

    @property
    def share(self) -> np.ndarray:
        """λ of each in the sum over everyone: (B, W)."""
        return np.exp(self.log_intensity - self.largest) / self.total

    def values(self, pairs: Pairs, values: np.ndarray) -> np.ndarray:
        """The `values` of `pairs` (P) where they are: (B, W), zero for all others."""
        begin, end = pairs.first[self.nodes[0]], pairs.first[self.nodes[-1] + 1]
        keys = pairs.keys[begin:end]
        width = self.everyone + 1  # nobody has a number, too
        held = (self.nodes[:, None] * width + self.partner).ravel()  # rising
        places = np.searchsorted(held, wanted := keys + keys // self.everyone)
        is_held = held[np.minimum(places, len(held) - 1)] == wanted
        result = np.zeros(len(held), values.dtype)
        result[places[is_held]] = values[begin:end][is_held]
        return result.reshape(self.partner.shape)


@dataclass(frozen=True)
class Outlook:
    """log λ of N rows, one after the other: P places."""

    first: np.ndarray  # (N + 1) where each row begins, and the end of the last
    partner: np.ndarray  # (P) int32
    weight: np.ndarray  # (P) float32
    log_intensity: np.ndarray  # (P) float32
    largest: np.ndarray  # (N)
    total: np.ndarray  # (N)

    @classmethod
    def whole(cls, log_intensity: np.ndarray) -> Self:
        """From log λ (N, N) of all pairs, −∞ on the diagonal."""
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
        """From the row of each node, in their order."""
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
        """N."""
        return len(self.largest)

    @property
    def is_whole(self) -> bool:
        """Whether every row holds everyone."""
        return len(self.partner) == self.nodes**2

    def blocks(self, every: int = 1, begin: int = 0) -> Iterator[Block]:
        """The rows in blocks that fit into memory; of `every` so many one, from the row `begin` on."""
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
        """The rows of `nodes` (B), which are in order."""
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
