"""Every statistic of a directed pair a→b at a moment, group by group.

`GROUPS` lists the names in the order in which the group's function writes them: to add a statistic, add its
name there and its line here. Counts are log(x + .01), shares log(x + .001), numbers log(1 + x), times
log(1 + minutes); what never happened is `LONG_AGO`. Nothing looks past the history as it stands.
"""

from typing import NamedTuple

import numpy as np

from model.history.compiled import compiled
from model.history.pairs import slot_of, step_of
from model.history.paths import PATH_TAUS, PATHS, WIDTH
from model.history.state import (
    ALL,
    IN,
    MONTH,
    NONE,
    OUT,
    POWERS,
    RECENT,
    SMOOTHING,
    TAU_NAMES,
    TAUS,
    TIES_IN,
    TIES_OUT,
    History,
)
from model.history.update import hour_of, weekday_of

LONG_AGO = 2 * 365 * 24 * 60.0  # minutes
FURTHEST = 64  # a recency rank from here on counts as no rank
PRIOR = 0.1  # events that a share is shrunk by


class Moment(NamedTuple):
    """What all pairs asked at one moment share."""

    now: np.ndarray  # (4) seconds, hour, weekday, log minutes since the last event
    fading: np.ndarray  # (T) exp(−(now − reference)/τ): a kept sum times this is its value now
    inverse: np.ndarray  # (2, N, 4) 1/(F + prior) of each node as actor and target, at `PATH_TAUS`
    paths: np.ndarray  # (N, WIDTH) between the anchor and each node
    middle: np.ndarray  # (N, 9) room to work in
    touched: np.ndarray  # (N)


def new_moment(nodes: int) -> Moment:
    """Room for the statistics of one moment."""
    taus = len(PATH_TAUS)
    return Moment(
        np.zeros(4),
        np.zeros(len(TAUS)),
        np.zeros((2, nodes, taus)),
        np.zeros((nodes, WIDTH)),
        np.zeros((nodes, 2 * taus + 1)),
        np.zeros(nodes, np.int64),
    )


@compiled
def count_log(x: float) -> float:
    """log(x + .01)."""
    return np.log(x + 0.01)


@compiled
def share_log(x: float) -> float:
    """log(x + .001)."""
    return np.log(x + 0.001)


@compiled
def minutes_log(seconds: float) -> float:
    """log(1 + minutes), at most `LONG_AGO`; so that −∞, never, is long ago too."""
    return np.log1p(min(seconds / 60.0, LONG_AGO))


@compiled
def fading_now(sums: np.ndarray, moment: Moment, tau: int) -> float:
    """Σ exp(−(t − tᵢ)/τ)."""
    return sums[tau] * moment.fading[tau]


@compiled
def recency_rank(history: History, slot: int, lane: int) -> float:
    """log(1 + partners met since), in one of the node's lists; `FURTHEST` if never or long ago."""
    if slot == NONE or (history.before[slot, lane] == NONE and history.head[history.source[slot], lane] != slot):
        return np.log1p(FURTHEST)
    rank = 0
    while history.before[slot, lane] != NONE and rank < FURTHEST:
        slot = history.before[slot, lane]
        rank += 1
    return np.log1p(rank)


@compiled
def share_now(history: History, slot: int, lane: int, speed: int) -> float:
    """The smoothed share of a partner in a node's events: an exponential average in its own event count."""
    if slot == NONE:
        return 0.0
    age = int(history.node_count[history.source[slot], lane]) - history.share_at[slot, lane]
    return history.share[slot, lane, speed] * POWERS[min(age, len(POWERS) - 1), speed]


@compiled
def part(x: float, total: float, prior: float) -> float:
    """x/(total + prior)."""
    return x / (total + prior)


@compiled
def pair(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """What happened between the two."""
    at = 0
    if slot == NONE:
        for _ in range(2 * len(TAUS)):
            out[at] = count_log(0.0)
            at += 1
        for value in (0.0, 0.0, minutes_log(np.inf), minutes_log(np.inf), 0.0, 0.0):
            out[at] = value
            at += 1
    else:
        for way in (slot, slot ^ 1):
            for tau in range(len(TAUS)):
                out[at] = count_log(fading_now(history.fade[way], moment, tau))
                at += 1
        out[at] = np.log1p(history.count[slot])
        out[at + 1] = np.log1p(history.count[slot ^ 1])
        out[at + 2] = minutes_log(moment.now[0] - history.last[slot])
        out[at + 3] = minutes_log(moment.now[0] - history.last[slot ^ 1])
        out[at + 4] = history.count[slot] > 0
        out[at + 5] = history.count[slot ^ 1] > 0
        at += 6
    back = slot if slot == NONE else slot ^ 1
    out[at] = recency_rank(history, slot, OUT)
    out[at + 1] = recency_rank(history, back, IN)
    out[at + 2] = recency_rank(history, slot, ALL)
    out[at + 3] = recency_rank(history, back, ALL)


@compiled
def share(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """The partner's share in the node's events, for both."""
    at = 0
    back = slot if slot == NONE else slot ^ 1
    for near in (slot, back):
        for lane in range(3):
            for speed in range(len(SMOOTHING)):
                out[at] = share_log(share_now(history, near, lane, speed))
                at += 1


@compiled
def pair_type(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """Which types of events happened between the two."""
    types = history.type_count.shape[1]
    out[: 4 * types] = 0.0
    if slot == NONE:
        return
    for kind in range(types):
        out[kind] = np.log1p(history.type_count[slot, kind])
        out[types + kind] = np.log1p(history.type_count[slot ^ 1, kind])
        out[2 * types + kind] = history.last_type[slot] == kind
        out[3 * types + kind] = history.last_type[slot ^ 1] == kind


@compiled
def node(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """How active a is and how popular b."""
    at = 0
    now = moment.now[0]
    for role, who in ((0, a), (1, b), (1, a), (0, b)):
        for tau in range(len(TAUS)):
            out[at] = count_log(fading_now(history.node_fade[role, who], moment, tau))
            at += 1
        out[at] = np.log1p(history.node_count[who, role])
        out[at + 1] = minutes_log(now - history.node_last[role, who])
        out[at + 2] = np.log1p(history.degree[who, role])
        at += 3
    for role, who in ((0, a), (1, b)):
        for tau in (3, 4, 5):
            out[at] = count_log(fading_now(history.new_fade[role, who], moment, tau))
            at += 1
        new = fading_now(history.new_fade[role, who], moment, MONTH)
        total = fading_now(history.node_fade[role, who], moment, MONTH)
        out[at] = part(new, total, 1.0)
        out[at + 1] = history.gap[role, who]
        out[at + 2] = minutes_log(now - history.node_last[role, who]) - history.gap[role, who]
        at += 3


@compiled
def node_type(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """Which types of events a begins and b receives."""
    types = history.type_count.shape[1]
    at = 0
    for role, who in ((0, a), (1, b)):
        total = history.node_fade[role, who, MONTH]
        prior = PRIOR / moment.fading[MONTH]
        for kind in range(types):
            out[at] = part(history.node_type[role, who, kind], total, prior)
            out[at + types] = history.node_last_type[role, who] == kind
            at += 1
        at += types


@compiled
def clock(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """Whether this is a time at which the two are active."""
    hour, weekday = int(moment.now[1]), int(moment.now[2])
    prior = 2.0 / moment.fading[MONTH]
    total = history.all_fade[MONTH] + prior
    at = 0
    for role, who in ((0, a), (1, b)):
        own = history.node_fade[role, who, MONTH] + prior
        profile = history.hours[role, who]
        near = 0.0
        wide = 0.0
        usual = 0.0
        for step in range(-3, 4):
            there = (hour + step) % 24
            weight = 1.0 - abs(step) / 4.0
            wide += weight * profile[there]
            usual += weight * history.all_hours[there]
            if step == 0:
                near = profile[there]
        expected = prior * (usual / 4.0 / total + 0.001)
        out[at] = np.log((near + expected) / own)
        out[at + 1] = np.log((wide / 4.0 + expected) / own)
        out[at + 2] = np.log((wide / 4.0 + expected) / own) - np.log(usual / 4.0 / total + 0.001)
        out[at + 3] = np.log((history.weekdays[role, who, weekday] + prior / 7.0) / own)
        at += 4
    angle = 2.0 * np.pi * moment.now[1] / 24.0
    out[at] = np.sin(angle)
    out[at + 1] = np.cos(angle)
    out[at + 2] = weekday >= 5
    out[at + 3] = count_log(history.all_fade[1] * moment.fading[1])
    out[at + 4] = count_log(history.all_fade[3] * moment.fading[3])
    out[at + 5] = moment.now[3]


@compiled
def association(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """Whether the two are associated, and with how many others."""
    out[:4] = 0.0
    out[2] = out[3] = minutes_log(np.inf)
    if slot != NONE:
        for way in range(2):
            since = history.tie[slot ^ way]
            out[way] = since < np.inf
            if since < np.inf:
                out[2 + way] = minutes_log(moment.now[0] - since)
    out[4] = np.log1p(history.degree[a, TIES_OUT])
    out[5] = np.log1p(history.degree[b, TIES_IN])
    out[6] = np.log1p(history.degree[a, TIES_IN])
    out[7] = np.log1p(history.degree[b, TIES_OUT])


@compiled
def two_hops(history: History, moment: Moment, end: int, out: np.ndarray) -> None:
    """What lies on the way between the two; `end` is the one that is not the anchor of the walk."""
    paths = moment.paths
    first_count = WIDTH - 2
    for column in range(first_count):
        out[column] = np.log(paths[end, column] + 0.0003)
    out[first_count] = np.log1p(paths[end, first_count])
    out[first_count + 1] = np.log1p(paths[end, first_count + 1])


@compiled
def sequence(history: History, moment: Moment, a: int, b: int, slot: int, out: np.ndarray) -> None:
    """Whether b usually comes after a's latest targets, and a after b's latest actors."""
    at = 0
    prior = PRIOR / moment.fading[MONTH]
    for role, who, partner in ((0, a, b), (1, b, a)):
        weighted = 0.0
        same = 0.0
        for back in range(RECENT):
            earlier = history.recent[role, who, back]
            if earlier == NONE:
                if back < 2:
                    out[at] = share_log(0.0)
                    out[at + 1] = 0.0
                    at += 2
                continue
            step = step_of(history, earlier, partner)
            share = 0.0
            lag = min(back, 1)
            if step != NONE:
                share = part(history.step_fade[step, role, lag], history.step_total[role, earlier, lag], prior)
            if back < 2:
                out[at] = share_log(share)
                out[at + 1] = earlier == partner
                at += 2
            weighted += share * 0.7**back
            same += earlier == partner
        out[at] = share_log(weighted)
        out[at + 1] = same
        at += 2


def tau_names(name: str, taus: tuple[str, ...] = TAU_NAMES) -> tuple[str, ...]:
    """One name for each speed of fading."""
    return tuple(f"{name}_{tau}" for tau in taus)


def groups(types: int) -> dict[str, tuple[str, ...]]:
    """The names of all statistics of a stream with so many event types, by group, in the order written."""
    kinds = range(types)
    path_taus = tuple(TAU_NAMES[tau] for tau in PATH_TAUS)
    return {
        "pair": (
            *tau_names("count_ab"),
            *tau_names("count_ba"),
            *("n_ab", "n_ba", "since_ab", "since_ba", "seen_ab", "seen_ba"),
            *("rank_target", "rank_actor", "rank_of_b", "rank_of_a"),
        ),
        "share": tuple(
            f"share_{who}_{lane}_{alpha}"
            for who in ("b_in_a", "a_in_b")
            for lane in ("out", "in", "all")
            for alpha in SMOOTHING
        ),
        "pair_type": tuple(
            f"{name}_{kind}" for name in ("type_ab", "type_ba", "last_ab", "last_ba") for kind in kinds
        ),
        "node": (
            *(
                name
                for role in ("a_acts", "b_receives", "a_receives", "b_acts")
                for name in (*tau_names(role), f"{role}_n", f"{role}_since", f"{role}_degree")
            ),
            *(
                name
                for role in ("a_new", "b_new")
                for name in (*tau_names(role, TAU_NAMES[3:]), f"{role}_rate", f"{role}_gap", f"{role}_overdue")
            ),
        ),
        "node_type": tuple(
            f"{name}_{kind}" for name in ("a_type", "a_last_type", "b_type", "b_last_type") for kind in kinds
        ),
        "clock": (
            *(
                f"{who}_{name}"
                for who in ("a", "b")
                for name in ("hour", "hours", "hours_own", "weekday")
            ),
            *("hour_sin", "hour_cos", "weekend", "all_1h", "all_1d", "all_since"),
        ),
        "association": (
            *("tie_ab", "tie_ba", "tie_ab_since", "tie_ba_since"),
            *("a_ties", "b_tied", "a_tied", "b_ties"),
        ),
        "two_hops": (*(name for path in PATHS for name in tau_names(path, path_taus)), "tied_twice", "common"),
        "sequence": tuple(
            f"{name}_{who}" for who in ("a", "b") for name in ("next", "again", "next2", "again2", "next5", "again5")
        ),
    }


@compiled
def begin(history: History, moment: Moment, now: float) -> None:
    """Set what all pairs asked at this moment share."""
    moment.now[0] = now
    moment.now[1] = hour_of(history, now)
    moment.now[2] = weekday_of(history, now)
    moment.now[3] = minutes_log(now - history.clock[0])
    for tau in range(len(TAUS)):
        moment.fading[tau] = np.exp(-(now - history.reference[tau]) / TAUS[tau])
    for tau in range(len(PATH_TAUS)):
        prior = PRIOR / moment.fading[PATH_TAUS[tau]]
        for role in range(2):
            for who in range(len(history.head)):
                moment.inverse[role, who, tau] = 1.0 / (history.node_fade[role, who, PATH_TAUS[tau]] + prior)


@compiled
def fill(history: History, moment: Moment, a: int, b: int, end: int, starts: np.ndarray, out: np.ndarray) -> None:
    """All statistics of a→b: (F). `starts` is where each group begins."""
    slot = slot_of(history, a, b)
    pair(history, moment, a, b, slot, out[starts[0] :])
    share(history, moment, a, b, slot, out[starts[1] :])
    pair_type(history, moment, a, b, slot, out[starts[2] :])
    node(history, moment, a, b, slot, out[starts[3] :])
    node_type(history, moment, a, b, slot, out[starts[4] :])
    clock(history, moment, a, b, slot, out[starts[5] :])
    association(history, moment, a, b, slot, out[starts[6] :])
    two_hops(history, moment, end, out[starts[7] :])
    sequence(history, moment, a, b, slot, out[starts[8] :])
