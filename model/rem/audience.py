"""Whom a forecast considers: everyone, or in a large network those who matter and a few for all others.

Of more than `SMALL` nodes, these are considered one by one: the node's latest partners, whom a path leads to,
and the most popular. The others have no past with the node and nothing leads to them; some of them, spread
evenly, stand for all, each for as many as there are to one of them. So a sum over all nodes costs the same in
any network.
"""

from typing import NamedTuple

import numpy as np

from model.history.moment import SMALL
from model.history.reading import Pass
from model.history.state import ALL, MONTH, NONE, History

MOST = 512  # latest partners, most popular nodes, and others, of each


class Audience(NamedTuple):
    """Nodes in order, and for how many each stands; the one that is asked about stands for none."""

    nodes: np.ndarray  # (M) int64
    weight: np.ndarray  # (M) float64

    def without(self, node: int) -> "Audience":
        """All but the one that is asked about."""
        others = self.nodes != node
        return Audience(self.nodes[others], self.weight[others])


def audience_of(reading: Pass, node: int, now: float, also: np.ndarray | None = None) -> Audience:
    """Whom to consider as targets of `node` at second `now`: `also` names some who are in any case."""
    everyone = reading.events.stream.nodes
    is_near = np.ones(everyone, bool)
    if everyone > SMALL:
        reading.ask(node, now, others=np.empty(0, np.int64))  # walks along the paths
        reached = reading.moment.paths
        popular = np.argpartition(reading.history.node_fade[1, :, MONTH], -MOST)[-MOST:]
        is_near[:] = False
        for near in (partners_of(reading.history, node), reached.nodes[: reached.count[0]], popular, also):
            is_near[[] if near is None else near] = True
    weight = is_near.astype(np.float64)
    weight[node], is_near[node] = 0.0, True
    far = np.flatnonzero(~is_near)
    few = far[np.linspace(0, len(far) - 1, min(MOST, len(far))).round().astype(int)]
    weight[few], is_near[few] = len(far) / max(len(few), 1), True
    nodes = np.flatnonzero(is_near)
    return Audience(nodes, weight[nodes])


def partners_of(history: History, node: int) -> np.ndarray:
    """The latest partners of a node in either role, the latest first."""
    found, slot = [], history.head[node, ALL]
    while slot != NONE and len(found) < MOST:
        found.append(history.target[slot])
        slot = history.after[slot, ALL]
    return np.array(found, np.int64)


def most_active(history: History) -> np.ndarray:
    """The nodes whose forecasts are kept, in order: all, or of many those who acted most of late."""
    acted = history.node_fade[0, :, MONTH]
    if len(acted) <= SMALL:
        return np.arange(len(acted))
    most = np.argsort(-acted, kind="stable")[:SMALL]
    return np.sort(most[acted[most] > 0])
