"""Values shared by all pairs that are queried at one moment."""

from typing import NamedTuple

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.state import PATH_TAUS, PATHS_WIDTH, TAUS, History
from model.history.update import hour_of, weekday_of

LONG_AGO = 2 * 365 * 24 * 60.0  # minutes
PRIOR = 0.1  # pseudo-events that shrink a share
FIRST = len(TAUS) - PATH_TAUS  # index in `TAUS` of the first τ of paths
# A path follows at most REACH latest partners of each node. With more than `SMALL` nodes it follows at most
# SHORT_REACH, and three-step paths continue from at most MOST_BETWEEN nodes two steps away.
SMALL, REACH = 1024, 128
SHORT_REACH, MOST_BETWEEN = 8, 24


class Touched(NamedTuple):
    """A row for each of N nodes, all zero except those of the nodes listed as touched."""

    rows: np.ndarray  # (N, W)
    nodes: np.ndarray  # (N) int32: touched nodes, in order of first touch
    is_touched: np.ndarray  # (N) bool
    count: np.ndarray  # (1)


class Moment(NamedTuple):
    """A query time, the values that depend on it, and work buffers."""

    now: np.ndarray  # (3) seconds, hour, weekday
    fading: np.ndarray  # (T) exp(−(now − reference)/τ): a stored sum times this is its current value
    prior: np.ndarray  # (4) added to F in the denominator of a share, at the τ of paths
    bounds: np.ndarray  # (2) limits of a walk: partners per node, middle nodes of three-step paths
    middle: Touched  # (N, 8) intermediate sums of a walk
    own: np.ndarray  # (2, 4) 1/(F + prior) of the anchor as actor and target
    weight: np.ndarray  # (8) work buffer
    one: np.ndarray  # (4) ones
    paths: Touched  # (N, PATHS_WIDTH) between the anchor and each node
    shared: np.ndarray  # (F) float32: statistics shared by all candidates of a query


def new_moment(nodes: int, statistics: int) -> Moment:
    """Allocate a moment with buffers for `nodes` nodes and `statistics` statistics."""
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
    """Allocate zero rows with no node touched."""
    return Touched(
        np.zeros((nodes, width)), np.zeros(nodes, np.int32), np.zeros(nodes, np.bool_), np.zeros(1, np.int64)
    )


@inlined
def touch(touched: Touched, node: int) -> None:
    """List a node as touched before its row is changed."""
    if not touched.is_touched[node]:
        touched.is_touched[node] = True
        touched.nodes[touched.count[0]] = node
        touched.count[0] += 1


@compiled
def clear(touched: Touched) -> None:
    """Reset the touched rows to zero: O(touched nodes)."""
    for number in range(touched.count[0]):
        node = touched.nodes[number]
        touched.is_touched[node] = False
        for column in range(touched.rows.shape[1]):
            touched.rows[node, column] = 0.0
    touched.count[0] = 0


@compiled
def begin(history: History, moment: Moment, now: float) -> None:
    """Set the values shared by all pairs queried at second `now`."""
    moment.now[0] = now
    moment.now[1] = hour_of(history, now)
    moment.now[2] = weekday_of(history, now)
    for tau in range(len(TAUS)):
        moment.fading[tau] = np.exp(-(now - history.reference[tau]) / TAUS[tau])
    for tau in range(PATH_TAUS):
        moment.prior[tau] = PRIOR / moment.fading[FIRST + tau]
