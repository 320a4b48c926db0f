"""Features for a node's next wait: one compiled causal pass over the stream, a row at every event of a node.

There are two kinds. The *context* (C columns) describes the moment: the activity of the node and its partner
in each role, the node's recent waits and events, the hour and the weekday. The *bin evidence* (B × 8)
describes each bin of the forecast: the share of waits that ended in this bin among those that reached it,

    h_b = (ended in b) / (reached b),

over all nodes with decays of 3 and 30 days, over waits that began with the same role and type of event, and
over the node's own waits at two decay rates; how many own waits each of these two rests on; and the node's
usual activity at the hours that the bin covers. These shares are updated with the stream, so frozen weights
stay calibrated when habits change: GitHub's waits of under a second are five times as frequent in the paper's
test period as in training.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from model.history.events import Events
from model.stream import COMMUNICATION, Stream
from pipeline.results.waits import UNKNOWN_GAP, Waits, waits_between

HOUR, DAY = 3_600.0, 86_400.0
TAUS = np.array([HOUR / 4, HOUR, 6 * HOUR, DAY, 4 * DAY, 30 * DAY])  # of activity
BUSY_TAUS = np.array([HOUR / 4, HOUR, DAY])  # of all nodes' activity
MET_TAUS = np.array([DAY, 30 * DAY])  # of a pair's events
CROWD_TAUS = np.array([3 * DAY, 30 * DAY])  # of all nodes' waits
CLASS_TAU = 30 * DAY  # of waits that began with the same role and type of event
CLASS_PRIOR = 5.0  # prior weight of the crowd's share for a class, in waits
OWN_DECAYS = np.array([0.9, 0.98])  # per wait, of the node's own waits
OWN_PRIOR = 2.0  # prior weight of the class's share for a node, in waits
SMOOTHING = np.array([0.5, 0.15, 0.03])  # of log(1 + wait) of a node
PROFILE_DECAY, CROWD_PROFILE_DECAY = 0.995, 0.9995  # per event, of the hours of a node and of all
PROFILE_PRIOR = 5.0
BURST = 60.0  # events that follow within these seconds form a burst
GAPS = 5  # latest waits of a node in its context
KINDS_BACK = 3  # latest events of a node whose role and type are in its context
LONG_AGO = 1e8  # seconds
EVIDENCE = 8
MOST_WAITS = 1 << 18  # with features: bounds memory for long streams


def node_waits(stream: Stream) -> tuple[Waits, np.ndarray, np.ndarray]:
    """Return both nodes' waits from each communication to their next one, with partner and role (2E).

    Rows are in the stream's order, the acting node (role 0) before the one acted on (role 1).
    """
    events = stream.k == COMMUNICATION
    node = np.stack([stream.u[events], stream.v[events]], axis=1).ravel()  # (E, 2) → (2E)
    partner = np.stack([stream.v[events], stream.u[events]], axis=1).ravel()
    began = np.repeat(np.floor(stream.seconds[events]), 2)
    return waits_between(node, began, stream.seconds[-1]), partner, np.tile([0, 1], len(node) // 2)


class Remembered(NamedTuple):
    """Features known at the start of each of W waits, which are the `sampled_waits`."""

    context: np.ndarray  # (W, C) float32
    evidence: np.ndarray  # (W, B, 8) float32


def sampled_waits(waits: int) -> np.ndarray:
    """Return the indices of the waits used for learning and scores: all, or `MOST_WAITS` spread evenly."""
    if waits <= MOST_WAITS:
        return np.arange(waits)
    return np.linspace(0, waits - 1, MOST_WAITS).round().astype(np.int64)


def remember_waits(
    waits: Waits,
    partner: np.ndarray,
    kind: np.ndarray,
    kinds: int,
    nodes: int,
    edges: np.ndarray,
    week_hour: float,
) -> Remembered:
    """Compute features in one causal pass over `waits`: a wait counts only once the node's next one begins.

    `kind` (W) numbers role and type of the event that begins each wait, from 0 to `kinds` − 1; `week_hour` is
    when the stream's clock starts, in hours since Monday's midnight. Rows are those of `sampled_waits`.
    """
    low, high = np.minimum(waits.node, partner), np.maximum(waits.node, partner)
    _, pair = np.unique(low * nodes + high, return_inverse=True)
    sample, bins = sampled_waits(len(waits)), len(edges) - 1
    place = np.full(len(waits), -1)
    place[sample] = np.arange(len(sample))
    remembered = Remembered(
        np.empty((len(sample), context_width(kinds)), dtype=np.float32),
        np.empty((len(sample), bins, EVIDENCE), dtype=np.float32),
    )
    memory = new_memory(nodes, bins, kinds, int(pair.max(initial=0)) + 1)
    follow_waits(waits.node, partner, pair, kind, waits.began, edges, week_hour, memory, place, remembered)
    return remembered


def remember_events(events: Events, edges: np.ndarray) -> tuple[Waits, Remembered]:
    """Return the waits of all nodes of a stream and the features of the `sampled_waits`."""
    stream = events.stream
    waits, partner, role = node_waits(stream)
    types = len(events.types)
    kind = role * types + np.repeat(events.type[stream.k == COMMUNICATION], 2)
    week_hour = events.week_offset / HOUR
    return waits, remember_waits(waits, partner, kind, 2 * types, stream.nodes, edges, week_hour)


def context_width(kinds: int) -> int:
    """Return C for this number of `kinds` (role × event type)."""
    activity = 2 * 2 * len(TAUS) + 1
    waits = GAPS + 2 * len(SMOOTHING) + 2 + 2
    clock = 4 + 7 + len(BUSY_TAUS)
    return activity + waits + 1 + len(MET_TAUS) + clock + KINDS_BACK * kinds


class Memory(NamedTuple):
    """State of the pass for N nodes, P pairs and K kinds (role × event type); sums decay exponentially."""

    activity: np.ndarray  # (N, 2, T) by role
    last: np.ndarray  # (N, 2) seconds, by role
    count: np.ndarray  # (N)
    gaps: np.ndarray  # (N, GAPS) the latest first
    mean: np.ndarray  # (N, 3) of log(1 + wait), by smoothing
    variance: np.ndarray  # (N, 3)
    burst: np.ndarray  # (N) events of the burst so far
    kinds: np.ndarray  # (N, KINDS_BACK) int64, the latest first
    met: np.ndarray  # (P, 2)
    met_last: np.ndarray  # (P)
    busy: np.ndarray  # (3)
    crowd: np.ndarray  # (2, 2, B): ended in, reached; by decay
    alike: np.ndarray  # (K, 2, B): by role and type of the event that began the wait
    alike_last: np.ndarray  # (K)
    own: np.ndarray  # (N, 2, 2, B): by decay; ended in, reached
    profile: np.ndarray  # (N, 24)
    crowd_profile: np.ndarray  # (24)
    hours: np.ndarray  # (49) scratch space


def new_memory(nodes: int, bins: int, kinds: int, pairs: int) -> Memory:
    """Return the state before the first event."""
    crowd = np.full((2, 2, bins), 1e-3)
    crowd[1] = 1e-2
    return Memory(
        activity=np.zeros((nodes, 2, len(TAUS))),
        last=np.full((nodes, 2), -np.inf),
        count=np.zeros(nodes),
        gaps=np.full((nodes, GAPS), UNKNOWN_GAP),
        mean=np.full((nodes, len(SMOOTHING)), np.log(DAY)),
        variance=np.full((nodes, len(SMOOTHING)), 4.0),
        burst=np.zeros(nodes),
        kinds=np.full((nodes, KINDS_BACK), -1),
        met=np.zeros((pairs, len(MET_TAUS))),
        met_last=np.full(pairs, -LONG_AGO),
        busy=np.zeros(len(BUSY_TAUS)),
        crowd=crowd,
        alike=np.zeros((kinds, 2, bins)),
        alike_last=np.zeros(kinds),
        own=np.zeros((nodes, 2, 2, bins)),
        profile=np.zeros((nodes, 24)),
        crowd_profile=np.full(24, 1e-3),
        hours=np.zeros(49),
    )


@njit(cache=True)
def follow_waits(node, partner, pair, kind, began, edges, week_hour, memory, place, remembered):  # noqa: ANN001, ANN201 - compiled for these arrays
    """Run the pass: decay shared sums, end the node's open wait, add the event, write its features.

    `place` (W) is the row of `remembered` for each wait, −1 for none.
    """
    now = began[0] if len(began) else 0.0
    kinds = len(memory.alike)
    for row in range(len(node)):
        a, b, at = node[row], partner[row], began[row]
        role = 2 * kind[row] // kinds
        for decay in range(len(CROWD_TAUS)):
            memory.crowd[:, decay] *= np.exp(-(at - now) / CROWD_TAUS[decay])
        memory.busy[:] *= np.exp(-(at - now) / BUSY_TAUS)
        memory.busy[:] += 1.0
        now = at
        before = memory.last[a].copy()
        if before.max() > -np.inf:
            end_wait(memory, a, at - before.max(), at, edges)
        memory.activity[a, role] += 1.0
        memory.last[a, role] = at
        memory.count[a] += 1.0
        hour = (week_hour + at / HOUR) % 24.0
        memory.profile[a] *= PROFILE_DECAY
        memory.profile[a, int(hour)] += 1.0
        memory.crowd_profile[:] *= CROWD_PROFILE_DECAY
        memory.crowd_profile[int(hour)] += 1.0
        for back in range(KINDS_BACK - 1, 0, -1):
            memory.kinds[a, back] = memory.kinds[a, back - 1]
        memory.kinds[a, 0] = kind[row]
        weekday = int(((week_hour + at / HOUR) // 24.0) % 7)
        if place[row] >= 0:
            context = remembered.context[place[row]]
            describe(memory, a, b, pair[row], role, at, before, hour, weekday, context)
        if role == 1:  # the second row of an event: the pair has met
            memory.met[pair[row]] *= np.exp(-(at - memory.met_last[pair[row]]) / MET_TAUS)
            memory.met[pair[row]] += 1.0
            memory.met_last[pair[row]] = at
        if place[row] >= 0:
            weigh_bins(memory, a, hour, edges, remembered.evidence[place[row]])


@njit(cache=True)
def end_wait(memory, a, wait, at, edges):  # noqa: ANN001, ANN201
    """Add the wait that an event of `a` at `at` ends to the sums of the crowd, its class and the node."""
    bins = len(edges) - 1
    where = min(max(np.searchsorted(edges, wait, side="right") - 1, 0), bins - 1)
    began = memory.kinds[a, 0]
    memory.alike[began] *= np.exp(-(at - memory.alike_last[began]) / CLASS_TAU)
    memory.alike_last[began] = at
    for decay in range(2):
        memory.own[a, decay] *= OWN_DECAYS[decay]
        memory.own[a, decay, 0, where] += 1.0
        memory.own[a, decay, 1, : where + 1] += 1.0
        memory.crowd[0, decay, where] += 1.0
        memory.crowd[1, decay, : where + 1] += 1.0
    memory.alike[began, 0, where] += 1.0
    memory.alike[began, 1, : where + 1] += 1.0
    for back in range(GAPS - 1, 0, -1):
        memory.gaps[a, back] = memory.gaps[a, back - 1]
    memory.gaps[a, 0] = wait
    for speed in range(len(SMOOTHING)):
        alpha, off = SMOOTHING[speed], np.log1p(wait) - memory.mean[a, speed]
        memory.mean[a, speed] += alpha * off
        memory.variance[a, speed] = (1 - alpha) * (memory.variance[a, speed] + alpha * off * off)
    memory.activity[a] *= np.exp(-wait / TAUS)
    memory.burst[a] = memory.burst[a] + 1.0 if wait < BURST else 0.0


@njit(cache=True)
def describe(memory, a, b, pair, role, at, before, hour, weekday, context):  # noqa: ANN001, ANN201
    """Write the `context` row; `before` (2) is when `a` last acted and was acted on before this event."""
    idle = min(at - memory.last[b].max(), LONG_AGO)
    column = 0
    for either in range(2):
        for tau in range(len(TAUS)):
            context[column] = np.log(memory.activity[a, either, tau] + 0.01)
            partners = memory.activity[b, either, tau] * np.exp(-idle / TAUS[tau])
            context[column + 1] = np.log(partners + 0.01)
            column += 2
    context[column] = np.log1p(idle)
    column += 1
    for back in range(GAPS):
        context[column] = np.log1p(memory.gaps[a, back])
        column += 1
    for speed in range(len(SMOOTHING)):
        context[column] = memory.mean[a, speed]
        context[column + 1] = np.sqrt(memory.variance[a, speed])
        column += 2
    context[column] = np.log1p(min(at - before[role], LONG_AGO))
    context[column + 1] = np.log1p(min(at - before[1 - role], LONG_AGO))
    context[column + 2] = np.log1p(memory.count[a])
    context[column + 3] = np.log1p(memory.burst[a])
    since = at - memory.met_last[pair]
    context[column + 4] = np.log1p(since)
    column += 5
    for tau in range(len(MET_TAUS)):
        context[column] = np.log(memory.met[pair, tau] * np.exp(-since / MET_TAUS[tau]) + 0.01)
        column += 1
    angle = 2 * np.pi * hour / 24.0
    for harmonic in range(1, 3):
        context[column] = np.sin(harmonic * angle)
        context[column + 1] = np.cos(harmonic * angle)
        column += 2
    for day in range(7):
        context[column] = 1.0 if weekday == day else 0.0
        column += 1
    for tau in range(len(BUSY_TAUS)):
        context[column] = np.log1p(memory.busy[tau])
        column += 1
    for back in range(KINDS_BACK):
        for kind in range(len(memory.alike)):
            context[column] = 1.0 if memory.kinds[a, back] == kind else 0.0
            column += 1


@njit(cache=True)
def weigh_bins(memory, a, hour, edges, evidence):  # noqa: ANN001, ANN201
    """Write the `evidence` (B, 8) for the wait that `a` begins at this hour of the day."""
    prior = memory.crowd_profile / memory.crowd_profile.sum() * PROFILE_PRIOR
    level = (memory.profile[a].sum() + PROFILE_PRIOR) / 24.0
    for h in range(48):
        memory.hours[h + 1] = memory.hours[h] + (memory.profile[a, h % 24] + prior[h % 24]) / level
    alike = memory.alike[memory.kinds[a, 0]]
    for j in range(len(edges) - 1):
        for decay in range(2):
            evidence[j, decay] = bounded_logit(memory.crowd[0, decay, j] / memory.crowd[1, decay, j])
        usual = memory.crowd[0, 1, j] / memory.crowd[1, 1, j]
        usual = (alike[0, j] + CLASS_PRIOR * usual) / (alike[1, j] + CLASS_PRIOR)
        evidence[j, 2] = bounded_logit(usual)
        for decay in range(2):
            own = memory.own[a, decay]
            evidence[j, 3 + 2 * decay] = bounded_logit(
                (own[0, j] + OWN_PRIOR * usual) / (own[1, j] + OWN_PRIOR)
            )
            evidence[j, 4 + 2 * decay] = np.log(own[1, j] + 0.1)
        habit = 1.0  # a bin of a day or later covers every hour
        if edges[j] < DAY:
            start = hour + edges[j] / HOUR
            end = max(hour + min(edges[j + 1], DAY) / HOUR, start + 1.0 / HOUR)
            habit = (profile_at_hour(memory.hours, end) - profile_at_hour(memory.hours, start)) / (
                end - start
            )
        evidence[j, 7] = np.log(habit + 0.02)


@njit(cache=True)
def bounded_logit(share: float) -> float:
    """Return log(p / (1 − p)) of a share clamped to [1e-4, 1 − 1e-4]."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    return np.log(share / (1 - share))


@njit(cache=True)
def profile_at_hour(cumulative: np.ndarray, hour: float) -> float:
    """Interpolate a cumulative hourly profile linearly at `hour`."""
    whole = min(int(hour), 47)
    return cumulative[whole] + (cumulative[whole + 1] - cumulative[whole]) * min(hour - whole, 1.0)
