"""Whom a forecast considers: everyone, or in a large network those who matter and a few for all others.

Of more than `SMALL` nodes, these are considered one by one: the node's latest partners, whom a path leads
to, and the most popular. The others have no past with the node and nothing leads to them; some of them,
spread evenly, stand for all, each for as many as there are to one of them. So a sum over all nodes costs
the same in any network.
"""

from typing import NamedTuple

import numpy as np

from model.history.moment import SMALL
from model.history.reading import Pass
from model.history.state import ALL, MONTH, NONE, History

MOST = 512  # latest partners, most popular nodes, and others, of each
NOBODY = np.empty(0, np.int64)


class Audience(NamedTuple):
    """Nodes in order, and for how many each stands; the one that is asked about stands for none."""

    nodes: np.ndarray  # (M) int64
    weight: np.ndarray  # (M) float64

    def without(self, node: int) -> "Audience":
        """All but the one that is asked about."""
        others = self.nodes != node
        return Audience(self.nodes[others], self.weight[others])


def audience_of(reading: Pass, node: int, now: float, also: np.ndarray = NOBODY) -> Audience:
    """Whom to consider as targets of `node` at second `now`: `also` names some who are in any case."""
    everyone = reading.events.stream.nodes
    if everyone <= SMALL:
        return spread_audience(node, np.arange(everyone), everyone, 0)
    popular = most_popular(reading.history, MOST)
    near = np.concatenate([near_to(reading, node, now), popular, also])
    return spread_audience(node, near, everyone, MOST)


def spread_audience(node: int, near: np.ndarray, everyone: int, few: int) -> Audience:
    """Those `near` to a node, each for itself, and `few` of the rest, spread evenly, that stand for all."""
    near = np.union1d(near, [node])
    rest = everyone - len(near)
    chosen = np.linspace(0, rest - 1, min(few, rest)).round().astype(np.int64)
    # Numbers without those who are near become nodes by stepping over these.
    far = chosen + np.searchsorted(near - np.arange(len(near)), chosen, side="right")
    nodes = np.concatenate([near, far])
    weight = np.concatenate([(near != node).astype(float), np.full(len(far), rest / max(len(far), 1))])
    order = np.argsort(nodes)
    return Audience(nodes[order], weight[order])


def near_to(reading: Pass, node: int, now: float) -> np.ndarray:
    """A node's latest partners, and whom a path leads to from it at second `now`; some may be in it twice."""
    reading.ask(node, now, others=NOBODY)  # walks along the paths
    reached = reading.moment.paths
    return np.concatenate([partners_of(reading.history, node), reached.nodes[: reached.count[0]]])


def most_popular(history: History, count: int) -> np.ndarray:
    """So many nodes that were acted on most of late."""
    return np.argpartition(history.node_fade[1, :, MONTH], -count)[-count:]


def partners_of(history: History, node: int) -> np.ndarray:
    """The latest partners of a node in either role, the latest first."""
    partners, slot = [], history.head[node, ALL]
    while slot != NONE and len(partners) < MOST:
        partners.append(history.target[slot])
        slot = history.after[slot, ALL]
    return np.array(partners, np.int64)


def most_active(history: History) -> np.ndarray:
    """The nodes whose forecasts are kept, in order: all, or of many those who acted most of late."""
    acted = history.node_fade[0, :, MONTH]
    if len(acted) <= SMALL:
        return np.arange(len(acted))
    most = np.argsort(-acted, kind="stable")[:SMALL]
    return np.sort(most[acted[most] > 0])
