"""What all pairs asked at one moment share."""

from typing import NamedTuple

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.state import PATH_TAUS, PATHS_WIDTH, TAUS, History
from model.history.update import hour_of, weekday_of

LONG_AGO = 2 * 365 * 24 * 60.0  # minutes
PRIOR = 0.1  # events that a share is shrunk by


class Moment(NamedTuple):
    """A moment, and room to work in."""

    now: np.ndarray  # (3) seconds, hour, weekday
    fading: np.ndarray  # (T) exp(−(now − reference)/τ): a kept sum times this is its value now
    inverse: np.ndarray  # (2, N, 4) 1/(F + prior) of each node as actor and target, at the τ of paths
    middle: np.ndarray  # (N, 8) room to work in
    weight: np.ndarray  # (8) room to work in
    one: np.ndarray  # (4) ones
    paths: np.ndarray  # (N, PATHS_WIDTH) between the anchor and each node
    shared: np.ndarray  # (F) float32: what the candidates of a question share


def new_moment(nodes: int, statistics: int) -> Moment:
    """Room for so many statistics of one moment."""
    return Moment(
        np.zeros(3),
        np.zeros(len(TAUS)),
        np.zeros((2, nodes, PATH_TAUS)),
        np.zeros((nodes, 2 * PATH_TAUS)),
        np.zeros(2 * PATH_TAUS),
        np.ones(PATH_TAUS),
        np.zeros((nodes, PATHS_WIDTH)),
        np.zeros(statistics, np.float32),
    )


@compiled
def begin(history: History, moment: Moment, now: float) -> None:
    """Set what all pairs asked at this moment share."""
    moment.now[0] = now
    moment.now[1] = hour_of(history, now)
    moment.now[2] = weekday_of(history, now)
    for tau in range(len(TAUS)):
        moment.fading[tau] = np.exp(-(now - history.reference[tau]) / TAUS[tau])
    for tau in range(PATH_TAUS):
        slow = len(TAUS) - PATH_TAUS + tau
        prior = PRIOR / moment.fading[slow]
        for role in range(2):
            for who in range(len(history.head)):
                moment.inverse[role, who, tau] = 1.0 / (history.node_fade[role, who, slow] + prior)


@inlined
def minutes_since(moment: Moment, then: float) -> float:
    """Minutes since a moment, at most `LONG_AGO`: never is long ago too."""
    return min((moment.now[0] - then) / 60.0, LONG_AGO)
