"""What all pairs asked at one moment share."""

from typing import NamedTuple

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.state import PATH_TAUS, PATHS_WIDTH, TAUS, History
from model.history.update import hour_of, weekday_of

LONG_AGO = 2 * 365 * 24 * 60.0  # minutes
PRIOR = 0.1  # events that a share is shrunk by
FIRST = len(TAUS) - PATH_TAUS  # of the τ of paths
# Latest partners of each node on the way of a path. In a network of more than `SMALL` nodes they are fewer,
# and so are the nodes two steps away from which a path of three steps goes on.
SMALL, REACH = 1024, 128
SHORT_REACH, MOST_BETWEEN = 8, 24


class Touched(NamedTuple):
    """A row for each of N nodes, all zero but those of the nodes that are listed as touched."""

    rows: np.ndarray  # (N, W)
    nodes: np.ndarray  # (N) int32: those touched, in the order in which they were
    is_touched: np.ndarray  # (N) bool
    count: np.ndarray  # (1)


class Moment(NamedTuple):
    """A moment, and room to work in."""

    now: np.ndarray  # (3) seconds, hour, weekday
    fading: np.ndarray  # (T) exp(−(now − reference)/τ): a kept sum times this is its value now
    prior: np.ndarray  # (4) what F is raised by in a share, at the τ of paths
    bounds: np.ndarray  # (2) how far a walk goes: partners of a node, nodes in the middle of three steps
    middle: Touched  # (N, 8) of a walk
    own: np.ndarray  # (2, 4) 1/(F + prior) of the anchor as actor and target
    weight: np.ndarray  # (8) room to work in
    one: np.ndarray  # (4) ones
    paths: Touched  # (N, PATHS_WIDTH) between the anchor and each node
    shared: np.ndarray  # (F) float32: what the candidates of a question share


def new_moment(nodes: int, statistics: int) -> Moment:
    """Room for so many statistics of one moment."""
    bounds = (REACH, nodes) if nodes <= SMALL else (SHORT_REACH, MOST_BETWEEN)
    return Moment(
        np.zeros(3),
        np.zeros(len(TAUS)),
        np.zeros(PATH_TAUS),
        np.array(bounds),
        nothing_touched(nodes, 2 * PATH_TAUS),
        np.zeros((2, PATH_TAUS)),
        np.zeros(2 * PATH_TAUS),
        np.ones(PATH_TAUS),
        nothing_touched(nodes, PATHS_WIDTH),
        np.zeros(statistics, np.float32),
    )


def nothing_touched(nodes: int, width: int) -> Touched:
    """The rows of a moment before any node is touched: zeros."""
    return Touched(
        np.zeros((nodes, width)), np.zeros(nodes, np.int32), np.zeros(nodes, np.bool_), np.zeros(1, np.int64)
    )


@inlined
def touch(touched: Touched, node: int) -> None:
    """List a node whose row is about to change."""
    if not touched.is_touched[node]:
        touched.is_touched[node] = True
        touched.nodes[touched.count[0]] = node
        touched.count[0] += 1


@compiled
def clear(touched: Touched) -> None:
    """Back to zeros: as much work as nodes were touched."""
    for number in range(touched.count[0]):
        node = touched.nodes[number]
        touched.is_touched[node] = False
        for column in range(touched.rows.shape[1]):
            touched.rows[node, column] = 0.0
    touched.count[0] = 0


@compiled
def begin(history: History, moment: Moment, now: float) -> None:
    """Set what all pairs asked at this moment share."""
    moment.now[0] = now
    moment.now[1] = hour_of(history, now)
    moment.now[2] = weekday_of(history, now)
    for tau in range(len(TAUS)):
        moment.fading[tau] = np.exp(-(now - history.reference[tau]) / TAUS[tau])
    for tau in range(PATH_TAUS):
        moment.prior[tau] = PRIOR / moment.fading[FIRST + tau]
