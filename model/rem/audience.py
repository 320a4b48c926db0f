"""Candidates of a forecast: all nodes, or in a large network the relevant ones and a sample of the rest.

With more than `SMALL` nodes, the candidates are the node's latest partners, the nodes that a path reaches,
and the most popular nodes. The rest has no past with the node and no path to it; an evenly spaced sample
represents it, weighted by the number of nodes per sampled one. So a sum over all nodes costs the same in any
network.
"""

from typing import NamedTuple

import numpy as np

from model.history.moment import SMALL
from model.history.reading import Pass
from model.history.state import ALL, MONTH, NONE, History

MOST = 512  # limit of each: latest partners, most popular nodes, sampled others
NOBODY = np.empty(0, np.int64)


class Audience(NamedTuple):
    """Candidate nodes in ascending order and their sampling weights; the anchor has weight 0."""

    nodes: np.ndarray  # (M) int64
    weight: np.ndarray  # (M) float64

    def without(self, node: int) -> "Audience":
        """Return the candidates without `node`."""
        others = self.nodes != node
        return Audience(self.nodes[others], self.weight[others])


def audience_of(reading: Pass, node: int, now: float, also: np.ndarray = NOBODY) -> Audience:
    """Return the candidates for targets of `node` at second `now`; they always include `also`."""
    everyone = reading.events.stream.nodes
    if everyone <= SMALL:
        return spread_audience(node, np.arange(everyone), everyone, 0)
    popular = most_popular(reading.history, MOST)
    near = np.concatenate([near_to(reading, node, now), popular, also])
    return spread_audience(node, near, everyone, MOST)


def spread_audience(node: int, near: np.ndarray, everyone: int, few: int) -> Audience:
    """Return the nodes `near`, each with weight 1, and `few` evenly spaced others that represent the rest."""
    near = np.union1d(near, [node])
    rest = everyone - len(near)
    chosen = np.linspace(0, rest - 1, min(few, rest)).round().astype(np.int64)
    # Map numbers that exclude the near nodes to nodes by skipping these.
    far = chosen + np.searchsorted(near - np.arange(len(near)), chosen, side="right")
    nodes = np.concatenate([near, far])
    weight = np.concatenate([(near != node).astype(float), np.full(len(far), rest / max(len(far), 1))])
    order = np.argsort(nodes)
    return Audience(nodes[order], weight[order])


def near_to(reading: Pass, node: int, now: float) -> np.ndarray:
    """Return a node's latest partners and the nodes its paths reach at second `now`; may have duplicates."""
    reading.ask(node, now, others=NOBODY)  # fills `moment.paths`
    reached = reading.moment.paths
    return np.concatenate([partners_of(reading.history, node), reached.nodes[: reached.count[0]]])


def most_popular(history: History, count: int) -> np.ndarray:
    """Return the `count` nodes with the most events as target, decayed by month."""
    return np.argpartition(history.node_fade[1, :, MONTH], -count)[-count:]


def partners_of(history: History, node: int) -> np.ndarray:
    """Return the latest partners of a node in either role, latest first, at most `MOST`."""
    partners, slot = [], history.head[node, ALL]
    while slot != NONE and len(partners) < MOST:
        partners.append(history.target[slot])
        slot = history.after[slot, ALL]
    return np.array(partners, np.int64)


def most_active(history: History) -> np.ndarray:
    """Return the nodes whose forecasts are stored, sorted: all, or of many the most active of late."""
    acted = history.node_fade[0, :, MONTH]
    if len(acted) <= SMALL:
        return np.arange(len(acted))
    most = np.argsort(-acted, kind="stable")[:SMALL]
    return np.sort(most[acted[most] > 0])
