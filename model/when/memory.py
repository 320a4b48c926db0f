"""What the stream tells about a node's next wait: one causal pass, compiled, a row at every event of a node.

Two kinds of evidence. The *context* (C columns) describes the moment: how active the node and its partner
are, how long it waited lately, the hour. The *bin evidence* (B × 5) describes each bin of the forecast: the
share of waits that ended in this bin among those that came so far,

    h_b = (ended in b) / (reached b),

over all nodes with decays of 3 and 30 days and over the node's own waits; how many own waits speak for it;
and how active the node usually is at the hours that the bin covers. Because these shares follow the stream,
frozen weights stay calibrated when habits change: GitHub's waits of under a second are five times as
frequent in the paper's test period as in training, which no static model can know.
"""

import numpy as np
from numba import njit

from model.stream import COMMUNICATION, Stream
from pipeline.results.waits import Waits

DECAYS = (3_600.0, 43_200.0, 4 * 86_400.0, 30 * 86_400.0)  # seconds, of activity
CROWD_DECAYS = (3 * 86_400.0, 30 * 86_400.0)  # of all nodes' hazards
OWN_DECAY = 0.9  # per wait, of the node's own hazards
OWN_PRIOR = 2.0  # so many waits of the crowd stand in for a node's missing ones
PROFILE_DECAY = 0.995  # per event, of a node's hours
PROFILE_PRIOR = 5.0
GAPS = 3  # latest waits of a node in its context
UNKNOWN_GAP = 7 * 86_400.0  # before a node's first wait ends
CONTEXT = 2 * len(DECAYS) + GAPS + 1 + 1 + 5 + 2 + 1
EVIDENCE = 5


def node_waits(stream: Stream) -> tuple[Waits, np.ndarray, np.ndarray]:
    """Both nodes' waits from each communication to their next one, with partner and role at its start.

    Rows are in the stream's order, the acting node (role 0) before the one acted on (role 1).
    """
    events = stream.k == COMMUNICATION
    node = np.stack([stream.u[events], stream.v[events]], axis=1).ravel()  # (E, 2) → (2E)
    partner = np.stack([stream.v[events], stream.u[events]], axis=1).ravel()
    began = np.repeat(np.floor(stream.seconds[events]), 2)
    order = np.argsort(node, kind="stable")
    is_last = np.append(node[order][1:] != node[order][:-1], values=True)
    following = np.append(order[1:], 0)
    seconds = np.empty(len(node))
    seconds[order] = np.where(is_last, stream.seconds[-1] - began[order], began[following] - began[order])
    still_open = np.empty(len(node), dtype=bool)
    still_open[order] = is_last
    return Waits(node, began, seconds, still_open), partner, np.tile([0, 1], len(node) // 2)


def remember(
    waits: Waits, partner: np.ndarray, role: np.ndarray, nodes: int, edges: np.ndarray, week_hour: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Context (W, C), bin evidence (W, B, 5), the wait before (W), the decayed rate (W): as each begins.

    `week_hour` is when the stream's clock starts, in hours since Monday's midnight.
    """
    context = np.empty((len(waits), CONTEXT), dtype=np.float32)
    evidence = np.empty((len(waits), len(edges) - 1, EVIDENCE), dtype=np.float32)
    gap, rate = np.empty(len(waits)), np.empty(len(waits))
    _remember(waits.node, partner, role, waits.began, nodes, edges, week_hour, context, evidence, gap, rate)
    return context, evidence, gap, rate


@njit(cache=True)
def _remember(node, partner, role, began, nodes, edges, week_hour, context, evidence, gap, rate):  # noqa: ANN001, ANN202 - compiled for these arrays
    bins = len(edges) - 1
    decays, crowd_decays = np.array(DECAYS), np.array(CROWD_DECAYS)
    activity = np.zeros((nodes, len(DECAYS)))
    last = np.full(nodes, np.nan)
    events = np.zeros(nodes)
    gaps = np.full((nodes, GAPS), UNKNOWN_GAP)
    crowd = np.full((2, 2, bins), 1e-3)  # ended in, reached: by decay
    crowd[1] = 1e-2
    own = np.zeros((nodes, 2, bins))
    profile, crowd_profile = np.zeros((nodes, 24)), np.full(24, 1e-3)
    busy = np.zeros(2)  # events of the last hour and day
    met = dict()  # noqa: C408 - numba infers the types of an empty dict() only
    met[(-1, -1)] = 0.0
    cumulative = np.zeros(49)
    now = began[0] if len(began) else 0.0
    for row in range(len(node)):
        a, b, at = node[row], partner[row], began[row]
        elapsed, now = at - now, at
        for d in range(2):
            crowd[:, d] *= np.exp(-elapsed / crowd_decays[d])
        busy[0] *= np.exp(-elapsed / 3_600.0)
        busy[1] *= np.exp(-elapsed / 86_400.0)
        # The wait that this event ends becomes known.
        if not np.isnan(last[a]):
            ended = at - last[a]
            where = min(max(np.searchsorted(edges, ended, side="right") - 1, 0), bins - 1)
            own[a] *= OWN_DECAY
            own[a, 0, where] += 1.0
            own[a, 1, : where + 1] += 1.0
            crowd[0, :, where] += 1.0
            crowd[1, :, : where + 1] += 1.0
            gaps[a, 1:] = gaps[a, :-1].copy()
            gaps[a, 0] = ended
            activity[a] *= np.exp(-ended / decays)
        activity[a] += 1.0
        last[a] = at
        events[a] += 1.0
        hour = (week_hour + at / 3_600.0) % 24.0
        profile[a] *= PROFILE_DECAY
        profile[a, int(hour)] += 1.0
        crowd_profile *= 0.9995
        crowd_profile[int(hour)] += 1.0
        busy += 1.0

        column = 0
        for d in range(len(DECAYS)):
            context[row, column] = np.log(activity[a, d] + 0.01)
            idle = at - last[b] if not np.isnan(last[b]) else np.inf
            context[row, column + 1] = np.log(activity[b, d] * np.exp(-idle / decays[d]) + 0.01)
            column += 2
        for g in range(GAPS):
            context[row, column] = np.log1p(gaps[a, g])
            column += 1
        pair = (min(a, b), max(a, b))
        context[row, column] = np.log1p(at - met[pair]) if pair in met else 18.0
        if role[row] == 1:
            met[pair] = at
        context[row, column + 1] = np.log1p(events[a])
        angle = 2 * np.pi * hour / 24.0
        for harmonic in range(2):
            context[row, column + 2 + 2 * harmonic] = np.sin((harmonic + 1) * angle)
            context[row, column + 3 + 2 * harmonic] = np.cos((harmonic + 1) * angle)
        context[row, column + 6] = ((week_hour + at / 3_600.0) // 24.0) % 7 >= 5  # a weekend
        context[row, column + 7] = np.log1p(busy[0])
        context[row, column + 8] = np.log1p(busy[1])
        context[row, column + 9] = role[row]
        gap[row] = gaps[a, 0]
        rate[row] = activity[a, -1] / DECAYS[-1]

        prior = crowd_profile / crowd_profile.sum() * PROFILE_PRIOR
        level = (profile[a].sum() + PROFILE_PRIOR) / 24.0
        for h in range(48):
            cumulative[h + 1] = cumulative[h] + (profile[a, h % 24] + prior[h % 24]) / level
        for j in range(bins):
            for d in range(2):
                evidence[row, j, d] = logit(crowd[0, d, j] / crowd[1, d, j])
            crowd_hazard = crowd[0, 1, j] / crowd[1, 1, j]
            hazard = (own[a, 0, j] + OWN_PRIOR * crowd_hazard) / (own[a, 1, j] + OWN_PRIOR)
            evidence[row, j, 2] = logit(hazard)
            evidence[row, j, 3] = np.log(own[a, 1, j] + 0.1)
            habit = 1.0  # a bin of a day or later covers every hour
            if edges[j] < 86_400.0:
                start = hour + edges[j] / 3_600.0
                end = max(hour + min(edges[j + 1], 86_400.0) / 3_600.0, start + 1.0 / 3_600.0)
                habit = (at_hour(cumulative, end) - at_hour(cumulative, start)) / (end - start)
            evidence[row, j, 4] = np.log(habit + 0.02)


@njit(cache=True)
def logit(share: float) -> float:
    """log(p / (1 − p)), bounded."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    return np.log(share / (1 - share))


@njit(cache=True)
def at_hour(cumulative: np.ndarray, hour: float) -> float:
    """A cumulative hourly profile, read between its hours."""
    whole = min(int(hour), 47)
    return cumulative[whole] + (cumulative[whole + 1] - cumulative[whole]) * min(hour - whole, 1.0)
