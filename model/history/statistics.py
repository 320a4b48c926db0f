"""Every statistic of a directed pair a→b at a moment, group by group.

A compiled function per group writes plain amounts; `groups` lists their names in the order written, with the
scale on which a network reads them: to add a statistic, add its line in both. Nothing looks past the history
as it stands.
"""

from typing import NamedTuple

import numpy as np

from model.history.compiled import compiled
from model.history.pairs import slot_of, step_of
from model.history.paths import PATH_TAUS, WIDTH
from model.history.state import (
    ALL,
    IN,
    MONTH,
    NONE,
    OUT,
    POWERS,
    RECENT,
    SESSION,
    SMOOTHING,
    TAUS,
    TIES_IN,
    TIES_OUT,
    History,
)
from model.history.update import hour_of, weekday_of

LONG_AGO = 2 * 365 * 24 * 60.0  # minutes
FURTHEST = 64  # a recency rank from here on counts as no rank
PRIOR = 0.1  # events that a share is shrunk by
DISCOUNT = 0.7  # of each further event that a sequence looks back
NODE_WIDTH = 23  # statistics of group `node` for each of the two
CLOCK_WIDTH = 4  # and of group `clock`
SEQUENCE_WIDTH = 7  # and of group `sequence`

# A network reads log(x + offset) of these, and anything else as it is.
SCALES = {"count": 0.01, "share": 0.001, "path": 0.0003, "number": 1.0, "minutes": 1.0, "ratio": 0.0}


class Moment(NamedTuple):
    """What all pairs asked at one moment share."""

    now: np.ndarray  # (3) seconds, hour, weekday
    fading: np.ndarray  # (T) exp(−(now − reference)/τ): a kept sum times this is its value now
    inverse: np.ndarray  # (2, N, 4) 1/(F + prior) of each node as actor and target, at `PATH_TAUS`
    paths: np.ndarray  # (N, WIDTH) between the anchor and each node
    middle: np.ndarray  # (N, 9) room to work in
    touched: np.ndarray  # (N)


def new_moment(nodes: int) -> Moment:
    """Room for the statistics of one moment."""
    taus = len(PATH_TAUS)
    return Moment(
        np.zeros(3),
        np.zeros(len(TAUS)),
        np.zeros((2, nodes, taus)),
        np.zeros((nodes, WIDTH)),
        np.zeros((nodes, 2 * taus + 1)),
        np.zeros(nodes, np.int64),
    )


@compiled
def minutes_since(moment: Moment, then: float) -> float:
    """Minutes since a moment, at most `LONG_AGO`: never is long ago too."""
    return min((moment.now[0] - then) / 60.0, LONG_AGO)


@compiled
def recency_rank(history: History, slot: int, lane: int) -> float:
    """Partners met since, in one of the node's lists; `FURTHEST` if never or long ago."""
    first = history.head[history.source[slot], lane]
    if history.before[slot, lane] == NONE and first != slot:
        return FURTHEST
    rank = 0
    while slot != first and rank < FURTHEST:
        slot = history.before[slot, lane]
        rank += 1
    return rank


@compiled
def share_now(history: History, slot: int, lane: int, speed: int) -> float:
    """The smoothed share of a partner in a node's events: an exponential average in its own event count."""
    age = int(history.node_count[history.source[slot], lane]) - history.share_at[slot, lane]
    return history.share[slot, lane, speed] * POWERS[min(age, len(POWERS) - 1), speed]


@compiled
def pair(history: History, moment: Moment, slot: int, out: np.ndarray) -> None:
    """What happened between the two: fading counts, number, time since, recency ranks, whether at all."""
    taus = len(TAUS)
    if slot == NONE:
        out[: 2 * taus + 2] = 0.0
        out[2 * taus + 2 : 2 * taus + 4] = LONG_AGO
        out[2 * taus + 4 : 2 * taus + 8] = FURTHEST
        out[2 * taus + 8 : 2 * taus + 10] = 0.0
        return
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
    out[at + 8] = history.count[slot] > 0
    out[at + 9] = history.count[back] > 0


@compiled
def share(history: History, slot: int, out: np.ndarray) -> None:
    """The partner's share in the node's out-, in- and all events, for both."""
    speeds = len(SMOOTHING)
    if slot == NONE:
        out[: 6 * speeds] = 0.0
        return
    for lane in range(3):
        for speed in range(speeds):
            out[lane * speeds + speed] = share_now(history, slot, lane, speed)
            out[(3 + lane) * speeds + speed] = share_now(history, slot ^ 1, lane, speed)


@compiled
def pair_type(history: History, slot: int, out: np.ndarray) -> None:
    """How many events of each type happened between the two, and the type of the last."""
    types = history.type_count.shape[1]
    out[: 4 * types] = 0.0
    if slot == NONE:
        return
    for kind in range(types):
        out[kind] = history.type_count[slot, kind]
        out[types + kind] = history.type_count[slot ^ 1, kind]
    if history.last_type[slot] != NONE:
        out[2 * types + history.last_type[slot]] = 1.0
    if history.last_type[slot ^ 1] != NONE:
        out[3 * types + history.last_type[slot ^ 1]] = 1.0


@compiled
def node(history: History, moment: Moment, role: int, who: int, out: np.ndarray) -> None:
    """How active a node is in the role it is asked about, and in the other; how new its partners are."""
    taus = len(TAUS)
    for tau in range(taus):
        out[tau] = history.node_fade[role, who, tau] * moment.fading[tau]
        out[taus + tau] = history.new_fade[role, who, tau] * moment.fading[tau]
    at = 2 * taus
    for tau in (1, 3, 5):
        out[at] = history.node_fade[1 - role, who, tau] * moment.fading[tau]
        at += 1
    out[at] = minutes_since(moment, history.node_last[role, who])
    out[at + 1] = minutes_since(moment, history.node_last[1 - role, who])
    out[at + 2] = history.node_count[who, role]
    out[at + 3] = history.node_count[who, 1 - role]
    out[at + 4] = history.degree[who, role]
    out[at + 5] = history.degree[who, 1 - role]
    out[at + 6] = out[2 * taus - 1] / (out[taus - 1] + 1.0)
    out[at + 7] = history.gap[role, who]


@compiled
def node_type(history: History, moment: Moment, role: int, who: int, out: np.ndarray) -> None:
    """The share of each type in what a node begins, or receives: over a session, a month, and the last."""
    types = history.type_count.shape[1]
    session = 1.0 / (history.node_fade[role, who, SESSION] + PRIOR / moment.fading[SESSION])
    month = 1.0 / (history.node_fade[role, who, MONTH] + PRIOR / moment.fading[MONTH])
    for kind in range(types):
        out[kind] = history.node_type[role, who, 0, kind] * session
        out[types + kind] = history.node_type[role, who, 1, kind] * month
        out[2 * types + kind] = history.node_last_type[role, who] == kind


@compiled
def type_match(types: int, out: np.ndarray) -> None:
    """Σ_k share of type k in what a does · in what b receives: month and month, session and month, sessions.

    `out` begins with what `node_type` wrote for both.
    """
    month = between = session = 0.0
    for kind in range(types):
        month += out[types + kind] * out[4 * types + kind]
        between += out[kind] * out[4 * types + kind]
        session += out[kind] * out[3 * types + kind]
    out[6 * types] = month
    out[6 * types + 1] = between
    out[6 * types + 2] = session


@compiled
def node_clock(history: History, moment: Moment, role: int, who: int, out: np.ndarray) -> None:
    """The node's share of events at this hour, near it, the same against everyone's, and on this weekday."""
    hour, weekday = int(moment.now[1]), int(moment.now[2])
    prior = 2.0 / moment.fading[MONTH]
    own = 1.0 / (history.node_fade[role, who, MONTH] + prior)
    wide = usual = 0.0
    for step in range(-3, 4):
        there = (hour + step) % 24
        weight = (1.0 - abs(step) / 4.0) / 4.0
        wide += weight * history.hours[role, who, there]
        usual += weight * history.all_hours[there]
    usual = usual / (history.all_fade[MONTH] + prior) + 0.001
    out[0] = (history.hours[role, who, hour] + prior * usual) * own
    out[1] = (wide + prior * usual) * own
    out[2] = out[1] / usual
    out[3] = (history.weekdays[role, who, weekday] + prior / 7.0) * own


@compiled
def clock(history: History, moment: Moment, out: np.ndarray) -> None:
    """How much happens at all, and the time of day and of the week."""
    angle = 2.0 * np.pi * moment.now[1] / 24.0
    out[0] = history.all_fade[1] * moment.fading[1]
    out[1] = history.all_fade[3] * moment.fading[3]
    out[2] = minutes_since(moment, history.clock[0])
    out[3] = np.sin(angle)
    out[4] = np.cos(angle)
    out[5] = moment.now[2] >= 5


@compiled
def association(history: History, moment: Moment, slot: int, out: np.ndarray) -> None:
    """Since when the two are associated, either way, and whether at all."""
    out[0] = out[1] = LONG_AGO
    out[2] = out[3] = 0.0
    if slot != NONE:
        for way in range(2):
            since = history.tie[slot ^ way]
            if since < np.inf:
                out[way] = minutes_since(moment, since)
                out[2 + way] = 1.0


@compiled
def step_share(history: History, prior: float, role: int, back: int, earlier: int, later: int) -> float:
    """How much of what came after `earlier` was `later`, over a month."""
    if earlier == NONE:
        return 0.0
    step = step_of(history, earlier, later)
    if step == NONE:
        return 0.0
    return history.step_fade[step, role, back] / (history.step_total[role, earlier, back] + prior)


@compiled
def sequence(history: History, moment: Moment, role: int, who: int, partner: int, out: np.ndarray) -> None:
    """Whether the partner usually comes after the node's latest ones, and after anyone's; whether again."""
    prior = PRIOR / moment.fading[MONTH]
    weighted = same = 0.0
    discount = 1.0
    for back in range(RECENT):
        earlier = history.recent[role, who, back]
        found = step_share(history, prior, role, min(back, 1), earlier, partner)
        if back < 2:
            out[back] = found
            out[4 + back] = earlier == partner
        weighted += found * discount
        same += earlier == partner
        discount *= DISCOUNT
    out[2] = weighted
    out[3] = step_share(history, prior, role, 2, history.latest[1 - role], partner)
    out[6] = same


@compiled
def begin(history: History, moment: Moment, now: float) -> None:
    """Set what all pairs asked at this moment share."""
    moment.now[0] = now
    moment.now[1] = hour_of(history, now)
    moment.now[2] = weekday_of(history, now)
    for tau in range(len(TAUS)):
        moment.fading[tau] = np.exp(-(now - history.reference[tau]) / TAUS[tau])
    for role in range(2):
        for who in range(len(history.head)):
            for tau in range(len(PATH_TAUS)):
                slow = PATH_TAUS[tau]
                total = history.node_fade[role, who, slow] + PRIOR / moment.fading[slow]
                moment.inverse[role, who, tau] = 1.0 / total


@compiled
def fill(
    history: History,
    moment: Moment,
    anchor: int,
    other: int,
    forward: bool,
    starts: np.ndarray,
    out: np.ndarray,
    first: np.ndarray,
    copied: bool,
) -> None:
    """All statistics of anchor→other (or other→anchor): (F).

    `starts` is where each group begins. With `copied` those of the anchor alone and of the moment are taken
    from `first`, which has them already.
    """
    a, b = (anchor, other) if forward else (other, anchor)
    slot = slot_of(history, a, b)
    types = history.type_count.shape[1]
    pair(history, moment, slot, out[starts[0] :])
    share(history, slot, out[starts[1] :])
    pair_type(history, slot, out[starts[2] :])
    association(history, moment, slot, out[starts[6] :])
    out[starts[7] : starts[8]] = moment.paths[other]
    sequence(history, moment, 0, a, b, out[starts[8] :])
    sequence(history, moment, 1, b, a, out[starts[8] + SEQUENCE_WIDTH :])
    shared = starts[5] + 2 * CLOCK_WIDTH
    if copied:
        out[shared : starts[6]] = first[shared : starts[6]]
    else:
        clock(history, moment, out[shared:])
    for role in range(2):
        who = a if role == 0 else b
        at = starts[3] + role * NODE_WIDTH
        kinds = starts[4] + role * 3 * types
        hours = starts[5] + role * CLOCK_WIDTH
        ties = starts[6] + 4 + 2 * role
        if copied and who == anchor:
            out[at : at + NODE_WIDTH] = first[at : at + NODE_WIDTH]
            out[kinds : kinds + 3 * types] = first[kinds : kinds + 3 * types]
            out[hours : hours + CLOCK_WIDTH] = first[hours : hours + CLOCK_WIDTH]
            out[ties : ties + 2] = first[ties : ties + 2]
        else:
            node(history, moment, role, who, out[at:])
            node_type(history, moment, role, who, out[kinds:])
            node_clock(history, moment, role, who, out[hours:])
            out[ties] = history.degree[who, TIES_OUT + role]
            out[ties + 1] = history.degree[who, TIES_IN - role]
    type_match(types, out[starts[4] :])
