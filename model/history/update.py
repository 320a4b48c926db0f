"""Adding an event to the history: O(1), independent of the numbers of nodes and of pairs."""

import numpy as np

from model.history.compiled import compiled
from model.history.pairs import claim_slot, claim_step, to_front
from model.history.state import (
    ALL,
    DAY,
    IN,
    MONTH,
    NEAR_HOURS,
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

FAR = 300.0  # e-folds after which the reference of a sum is moved: exp(300) is far from overflowing
GAP_SMOOTHING = 0.1


@compiled
def hour_of(history: History, now: float) -> int:
    """Return the hour of the day, 0 to 23."""
    return int((now + history.clock[1]) % DAY // 3600.0)


@compiled
def weekday_of(history: History, now: float) -> int:
    """Return the day of the week; 0 is Monday."""
    return int((now + history.clock[2]) % (7 * DAY) // DAY)


@compiled
def add_near_hours(profile: np.ndarray, hour: int, weight: float) -> None:
    """Add an event at `hour` to the hours around it, with weights that fall with distance."""
    for step in range(len(NEAR_HOURS)):
        profile[(hour + step - len(NEAR_HOURS) // 2) % 24] += NEAR_HOURS[step] * weight


@compiled
def move_reference(history: History, now: float) -> None:
    """Move decayed sums whose reference is far behind to `now`: rare, and O(nodes + slots) then."""
    for tau in range(len(TAUS)):
        ahead = (now - history.reference[tau]) / TAUS[tau]
        if ahead <= FAR:
            continue
        factor = np.exp(-ahead)
        history.reference[tau] = now
        history.all_fade[tau] *= factor
        for slot in range(history.sizes[0]):
            history.fade[slot, tau] *= factor
        for role in range(2):
            for node in range(len(history.head)):
                move_node(history, role, node, tau, factor)
        if tau == MONTH:
            for hour in range(24):
                history.all_near_hours[hour] *= factor
            for step in range(history.sizes[1]):
                for role in range(2):
                    for back in range(3):
                        history.step_fade[step, role, back] *= factor


@compiled
def move_node(history: History, role: int, node: int, tau: int, factor: float) -> None:
    """Rescale the decayed sums of one node to a new reference time."""
    history.node_fade[role, node, tau] *= factor
    history.new_fade[role, node, tau] *= factor
    if tau not in (SESSION, MONTH):
        return
    for kind in range(history.node_type.shape[3]):
        history.node_type[role, node, 0 if tau == SESSION else 1, kind] *= factor
    if tau == MONTH:
        for hour in range(24):
            history.hours[role, node, hour] *= factor
            history.near_hours[role, node, hour] *= factor
        for weekday in range(7):
            history.weekdays[role, node, weekday] *= factor
        for back in range(3):
            history.step_total[role, node, back] *= factor


@compiled
def smooth_share(history: History, slot: int, lane: int) -> None:
    """Update a partner's share of its node's events: x ← x·(1 − α)^(node's events since)·(1 − α) + α."""
    count = int(history.node_count[history.source[slot], lane])
    age = min(count - history.share_at[slot, lane], len(POWERS) - 1)
    for speed in range(len(SMOOTHING)):
        alpha = SMOOTHING[speed]
        old = history.share[slot, lane, speed] * POWERS[age, speed]
        history.share[slot, lane, speed] = old * (1 - alpha) + alpha
    history.share_at[slot, lane] = count + 1


@compiled
def remember_step(history: History, role: int, back: int, earlier: int, later: int, weight: float) -> None:
    """Count a sequence in which `later` came after `earlier`."""
    if earlier != NONE:
        history.step_fade[claim_step(history, earlier, later), role, back] += weight
        history.step_total[role, earlier, back] += weight


@compiled
def observe_node(history: History, role: int, node: int, partner: int, event_type: int, now: float) -> None:
    """Update a node's state for an event in which `node` acted (`role` 0) or was acted on (1)."""
    month = np.exp((now - history.reference[MONTH]) / TAUS[MONTH])
    for tau in range(len(TAUS)):
        history.node_fade[role, node, tau] += np.exp((now - history.reference[tau]) / TAUS[tau])
    if history.node_last[role, node] > -np.inf:
        gap = np.log1p((now - history.node_last[role, node]) / 60.0)
        smoothed = history.gap[role, node]
        history.gap[role, node] = smoothed + GAP_SMOOTHING * (gap - smoothed) if smoothed > 0 else gap
    history.node_last[role, node] = now
    session = np.exp((now - history.reference[SESSION]) / TAUS[SESSION])
    history.node_type[role, node, 0, event_type] += session
    history.node_type[role, node, 1, event_type] += month
    history.node_last_type[role, node] = event_type
    hour = hour_of(history, now)
    history.hours[role, node, hour] += month
    add_near_hours(history.near_hours[role, node], hour, month)
    history.weekdays[role, node, weekday_of(history, now)] += month
    for back in range(2):
        remember_step(history, role, back, history.recent[role, node, back], partner, month)
    # The stream's last event: its target precedes this target, its actor this actor.
    remember_step(history, role, 2, history.latest[1 - role], partner, month)
    for back in range(RECENT - 1, 0, -1):
        history.recent[role, node, back] = history.recent[role, node, back - 1]
    history.recent[role, node, 0] = partner


@compiled
def tie(history: History, u: int, v: int, now: float) -> None:
    """Record that u is associated with v from `now` on."""
    slot = claim_slot(history, u, v)
    history.tie[slot] = now
    to_front(history, slot, TIES_OUT)
    to_front(history, slot ^ 1, TIES_IN)


@compiled
def observe(history: History, u: int, v: int, event_type: int, is_tie: bool, now: float) -> None:
    """Add an event of u acting on v."""
    move_reference(history, now)
    slot = claim_slot(history, u, v)
    other = slot ^ 1
    first_time = history.count[slot] == 0
    for tau in range(len(TAUS)):
        weight = np.exp((now - history.reference[tau]) / TAUS[tau])
        history.fade[slot, tau] += weight
        history.all_fade[tau] += weight
        if first_time:
            history.new_fade[0, u, tau] += weight
            history.new_fade[1, v, tau] += weight
    history.count[slot] += 1
    history.last[slot] = now
    history.type_count[slot, event_type] += 1
    history.last_type[slot] = event_type
    for near, lane in ((slot, OUT), (other, IN), (slot, ALL), (other, ALL)):
        smooth_share(history, near, lane)
        to_front(history, near, lane)
    observe_node(history, 0, u, v, event_type, now)
    observe_node(history, 1, v, u, event_type, now)
    history.latest[0], history.latest[1] = u, v
    history.node_count[u, OUT] += 1
    history.node_count[v, IN] += 1
    history.node_count[u, ALL] += 1
    history.node_count[v, ALL] += 1
    month = np.exp((now - history.reference[MONTH]) / TAUS[MONTH])
    add_near_hours(history.all_near_hours, hour_of(history, now), month)
    if is_tie:
        tie(history, u, v, now)
    history.clock[0] = now
    history.sizes[2] += 1


@compiled
def enter_event(
    history: History, u: int, v: int, event_type: int, is_tie: bool, now: float, by_role: bool
) -> None:
    """Add an event to the history; without roles it counts for both directions."""
    if by_role:
        observe(history, u, v, event_type, is_tie, now)
    else:  # in an order that is independent of who acted
        observe(history, min(u, v), max(u, v), event_type, is_tie, now)
        observe(history, max(u, v), min(u, v), event_type, is_tie, now)
