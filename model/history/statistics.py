"""Every statistic of a directed pair a→b at a moment, block by block.

A block depends on one thing: the moment, the actor, both, the target, or the past of the pair, so values that
many pairs share are computed once. One compiled function per block writes plain amounts in the order of
`registry.listed`: to add a statistic, add its line in both. Only the current history is read.
"""

from typing import NamedTuple

import numpy as np

from model.history.compiled import inlined
from model.history.logarithm import logarithm
from model.history.moment import LONG_AGO, PRIOR, Moment
from model.history.pairs import step_after
from model.history.state import (
    ALL,
    IN,
    IN_A_DAY,
    IN_AN_HOUR,
    MONTH,
    NONE,
    OUT,
    PATHS_WIDTH,
    POWERS,
    RECENT,
    SESSION,
    SMOOTHING,
    TAUS,
    TIES_IN,
    TIES_OUT,
    History,
)

FURTHEST = 64  # cap of recency ranks, also the value for no rank
DISCOUNT = 0.7  # weight factor per event further back in a sequence

BLOCKS = ("moment", "actor", "between", "target", "past")  # in the order written
MOMENT, ACTOR, BETWEEN, TARGET, PAST = range(len(BLOCKS))


class Columns(NamedTuple):
    """Columns of each block, and the transform of an amount: (log(x + offset) − mean) · factor, clipped.

    The `logs` amounts of a block whose logarithm is taken come first in it.
    """

    starts: np.ndarray  # (6) the first column of each block, and the end
    logs: np.ndarray  # (5)
    offset: np.ndarray  # (F) float32
    mean: np.ndarray  # (F) float32
    factor: np.ndarray  # (F) float32
    largest: np.ndarray  # (1) float32


@inlined
def minutes_since(moment: Moment, then: float) -> float:
    """Return the minutes since `then`, at most `LONG_AGO`, which also stands for never."""
    return min((moment.now[0] - then) / 60.0, LONG_AGO)


@inlined
def rescale_block(columns: Columns, block: int, row: np.ndarray) -> None:
    """Transform a block of statistics in a row (F) from amounts to the network's input, in place."""
    largest = columns.largest[0]
    start, end = columns.starts[block], columns.starts[block + 1]
    for at in range(start, start + columns.logs[block]):
        value = (logarithm(row[at] + columns.offset[at]) - columns.mean[at]) * columns.factor[at]
        row[at] = min(max(value, -largest), largest)
    for at in range(start + columns.logs[block], end):
        value = (row[at] - columns.mean[at]) * columns.factor[at]
        row[at] = min(max(value, -largest), largest)


@inlined
def of_moment(history: History, moment: Moment, out: np.ndarray) -> None:
    """Write the overall event rates, and the time of day and of the week."""
    angle = 2.0 * np.pi * moment.now[1] / 24.0
    out[0] = history.all_fade[IN_AN_HOUR] * moment.fading[IN_AN_HOUR]
    out[1] = history.all_fade[IN_A_DAY] * moment.fading[IN_A_DAY]
    out[2] = minutes_since(moment, history.clock[0])
    out[3] = np.sin(angle)
    out[4] = np.cos(angle)
    out[5] = moment.now[2] >= 5


@inlined
def of_node(history: History, moment: Moment, role: int, who: int, out: np.ndarray) -> None:
    """Write a node's activity in the queried role and in the other, and its rate of new partners.

    Also write its ties, hours and types of events.
    """
    taus, types = len(TAUS), history.type_count.shape[1]
    for tau in range(taus):
        out[tau] = history.node_fade[role, who, tau] * moment.fading[tau]
        out[taus + tau] = history.new_fade[role, who, tau] * moment.fading[tau]
    at = 2 * taus
    for tau in (IN_AN_HOUR, IN_A_DAY, MONTH):
        out[at] = history.node_fade[1 - role, who, tau] * moment.fading[tau]
        at += 1
    out[at] = minutes_since(moment, history.node_last[role, who])
    out[at + 1] = minutes_since(moment, history.node_last[1 - role, who])
    out[at + 2] = history.node_count[who, role]
    out[at + 3] = history.node_count[who, 1 - role]
    out[at + 4] = history.degree[who, role]
    out[at + 5] = history.degree[who, 1 - role]
    out[at + 6] = history.degree[who, TIES_OUT + role]
    out[at + 7] = history.degree[who, TIES_IN - role]
    of_clock(history, moment, role, who, out[at + 8 :])
    at += 12
    out[at] = out[2 * taus - 1] / (out[taus - 1] + 1.0)
    out[at + 1] = history.gap[role, who]
    at += 2
    session = 1.0 / (history.node_fade[role, who, SESSION] + PRIOR / moment.fading[SESSION])
    month = 1.0 / (history.node_fade[role, who, MONTH] + PRIOR / moment.fading[MONTH])
    for kind in range(types):
        out[at + kind] = history.node_type[role, who, 0, kind] * session
        out[at + types + kind] = history.node_type[role, who, 1, kind] * month
        out[at + 2 * types + kind] = history.node_last_type[role, who] == kind


@inlined
def of_clock(history: History, moment: Moment, role: int, who: int, out: np.ndarray) -> None:
    """Write a node's share of events at this hour, near it, relative to everyone's, and on this weekday."""
    hour, weekday = int(moment.now[1]), int(moment.now[2])
    prior = 2.0 / moment.fading[MONTH]
    own = 1.0 / (history.node_fade[role, who, MONTH] + prior)
    usual = history.all_near_hours[hour] / (history.all_fade[MONTH] + prior) + 0.001
    out[0] = (history.hours[role, who, hour] + prior * usual) * own
    out[1] = (history.near_hours[role, who, hour] + prior * usual) * own
    out[2] = out[1] / usual
    out[3] = (history.weekdays[role, who, weekday] + prior / 7.0) * own


@inlined
def of_both(history: History, moment: Moment, slot: int, a: int, b: int, other: int, out: np.ndarray) -> None:
    """Write the statistics from a to b: paths to the `other` of the two, ties, sequences, matching types."""
    if moment.paths.is_touched[other]:
        for column in range(PATHS_WIDTH):
            out[column] = moment.paths.rows[other, column]
    else:
        for column in range(PATHS_WIDTH):
            out[column] = 0.0
    at = PATHS_WIDTH
    for way in range(2):
        since = np.inf if slot == NONE else history.tie[slot ^ way]
        out[at + way] = minutes_since(moment, since) if since < np.inf else LONG_AGO
        out[at + 10 + way] = since < np.inf
    of_sequence(history, moment, 0, a, b, out[at + 2 :], out[at + 12 :])
    of_sequence(history, moment, 1, b, a, out[at + 6 :], out[at + 15 :])
    of_types(history, moment, a, b, out[at + 18 :])


@inlined
def of_types(history: History, moment: Moment, a: int, b: int, out: np.ndarray) -> None:
    """Write Σ_k type k's share of a's actions · of actions on b: month, session and month, session."""
    month = between = session = 0.0
    for kind in range(history.type_count.shape[1]):
        month += history.node_type[0, a, 1, kind] * history.node_type[1, b, 1, kind]
        between += history.node_type[0, a, 0, kind] * history.node_type[1, b, 1, kind]
        session += history.node_type[0, a, 0, kind] * history.node_type[1, b, 0, kind]
    short, long = PRIOR / moment.fading[SESSION], PRIOR / moment.fading[MONTH]
    a_short, a_long = history.node_fade[0, a, SESSION] + short, history.node_fade[0, a, MONTH] + long
    b_short, b_long = history.node_fade[1, b, SESSION] + short, history.node_fade[1, b, MONTH] + long
    out[0] = month / (a_long * b_long)
    out[1] = between / (a_short * b_long)
    out[2] = session / (a_short * b_short)


@inlined
def of_sequence(
    history: History, moment: Moment, role: int, who: int, partner: int, shares: np.ndarray, again: np.ndarray
) -> None:
    """Write how often the partner followed the node's latest ones, and anyone's last; and repetitions."""
    prior = PRIOR / moment.fading[MONTH]
    weighted = same = 0.0
    discount = 1.0
    step = before = NONE
    for back in range(RECENT):
        earlier = history.recent[role, who, back]
        if back == 0 or earlier != before:
            step, before = step_after(history, earlier, partner), earlier
        part = step_share(history, prior, role, min(back, 1), earlier, step)
        if back < 2:
            shares[back] = part
            again[back] = earlier == partner
        weighted += part * discount
        same += earlier == partner
        discount *= DISCOUNT
    shares[2] = weighted
    latest = history.latest[1 - role]
    shares[3] = step_share(history, prior, role, 2, latest, step_after(history, latest, partner))
    again[2] = same


@inlined
def step_share(history: History, prior: float, role: int, back: int, earlier: int, step: int) -> float:
    """Return the share of this sequence among all that began with `earlier`, decayed by month."""
    if step == NONE:
        return 0.0
    return history.step_fade[step, role, back] / (history.step_total[role, earlier, back] + prior)


@inlined
def is_met(history: History, slot: int) -> bool:
    """Return whether there was an event between the two nodes, in either direction."""
    return slot != NONE and history.count[slot] + history.count[slot ^ 1] > 0


@inlined
def of_no_past(out: np.ndarray) -> None:
    """Write the values of `of_past` for a pair without events."""
    taus = len(TAUS)
    out[: 2 * taus + 2] = 0.0
    out[2 * taus + 2 : 2 * taus + 4] = LONG_AGO
    out[2 * taus + 4 : 2 * taus + 8] = FURTHEST
    out[2 * taus + 8 :] = 0.0


@inlined
def of_past(history: History, moment: Moment, slot: int, out: np.ndarray) -> None:
    """Write a pair's own past: decayed counts, counts, times since, recency ranks, shares, types."""
    taus, types = len(TAUS), history.type_count.shape[1]
    back = slot ^ 1
    for tau in range(taus):
        out[tau] = history.fade[slot, tau] * moment.fading[tau]
        out[taus + tau] = history.fade[back, tau] * moment.fading[tau]
    at = 2 * taus
    out[at] = history.count[slot]
    out[at + 1] = history.count[back]
    out[at + 2] = minutes_since(moment, history.last[slot])
    out[at + 3] = minutes_since(moment, history.last[back])
    out[at + 4] = recency_rank(history, slot, OUT)
    out[at + 5] = recency_rank(history, back, IN)
    out[at + 6] = recency_rank(history, slot, ALL)
    out[at + 7] = recency_rank(history, back, ALL)
    at += 8
    speeds = len(SMOOTHING)
    for lane in range(3):
        for speed in range(speeds):
            out[at + lane * speeds + speed] = share_now(history, slot, lane, speed)
            out[at + (3 + lane) * speeds + speed] = share_now(history, back, lane, speed)
    at += 6 * speeds
    for kind in range(types):
        out[at + kind] = history.type_count[slot, kind]
        out[at + types + kind] = history.type_count[back, kind]
    at += 2 * types
    out[at] = history.count[slot] > 0
    out[at + 1] = history.count[back] > 0
    at += 2
    for kind in range(types):
        out[at + kind] = history.last_type[slot] == kind
        out[at + types + kind] = history.last_type[back] == kind


@inlined
def recency_rank(history: History, slot: int, lane: int) -> float:
    """Count the partners met since, in one of the node's lists; `FURTHEST` if never or long ago."""
    first = history.head[history.source[slot], lane]
    if history.before[slot, lane] == NONE and first != slot:
        return FURTHEST
    rank = 0
    while slot != first and rank < FURTHEST:
        slot = history.before[slot, lane]
        rank += 1
    return rank


@inlined
def share_now(history: History, slot: int, lane: int, speed: int) -> float:
    """Return a partner's smoothed share of a node's events: an exponential average over its event count."""
    age = int(history.node_count[history.source[slot], lane]) - history.share_at[slot, lane]
    return history.share[slot, lane, speed] * POWERS[min(age, len(POWERS) - 1), speed]
