"""One causal pass over a stream: each event is queried from its past, then added to the history."""

import numpy as np

from model.history.compiled import compiled
from model.history.moment import Moment, begin
from model.history.pairs import slot_of
from model.history.paths import walk_from_actor, walk_from_target
from model.history.prefetch import NODES_AHEAD, PAIRS_AHEAD, prefetch_node, prefetch_pair
from model.history.state import History
from model.history.statistics import (
    ACTOR,
    BETWEEN,
    MOMENT,
    PAST,
    TARGET,
    Columns,
    is_met,
    of_both,
    of_moment,
    of_no_past,
    of_node,
    of_past,
    rescale_block,
)
from model.history.update import enter_event


@compiled
def ask(
    history: History,
    moment: Moment,
    columns: Columns,
    anchor: int,
    acts: bool,
    others: np.ndarray,
    out: np.ndarray,
    met: np.ndarray,
) -> None:
    """Write the statistics of anchor→other (or other→anchor) for all `others` to `out` (C, F).

    `begin` must have set the moment. `met` (C) receives whether a pair has a past event. Statistics that all
    others share are computed once.
    """
    if acts:
        walk_from_actor(history, moment, anchor)
    else:
        walk_from_target(history, moment, anchor)
    own, theirs = (ACTOR, TARGET) if acts else (TARGET, ACTOR)
    role = 0 if acts else 1
    starts, shared = columns.starts, moment.shared
    of_moment(history, moment, shared[starts[MOMENT] :])
    of_node(history, moment, role, anchor, shared[starts[own] :])
    of_no_past(shared[starts[PAST] :])
    rescale_block(columns, MOMENT, shared)
    rescale_block(columns, own, shared)
    rescale_block(columns, PAST, shared)
    for number in range(-NODES_AHEAD, len(others)):
        if number + NODES_AHEAD < len(others):
            prefetch_node(history, moment, 1 - role, others[number + NODES_AHEAD])
        if 0 <= number + PAIRS_AHEAD < len(others):
            coming = others[number + PAIRS_AHEAD]
            prefetch_pair(history, anchor if acts else coming, coming if acts else anchor)
        if number < 0:
            continue
        other, row = others[number], out[number]
        for at in range(len(shared)):
            row[at] = shared[at]
        a, b = (anchor, other) if acts else (other, anchor)
        slot = slot_of(history, a, b)
        of_node(history, moment, 1 - role, other, row[starts[theirs] :])
        rescale_block(columns, theirs, row)
        of_both(history, moment, slot, a, b, other, row[starts[BETWEEN] :])
        rescale_block(columns, BETWEEN, row)
        met[number] = is_met(history, slot)
        if met[number]:
            of_past(history, moment, slot, row[starts[PAST] :])
            rescale_block(columns, PAST, row)


@compiled
def pass_over(
    history: History,
    moment: Moment,
    columns: Columns,
    u: np.ndarray,
    v: np.ndarray,
    event_type: np.ndarray,
    is_tie: np.ndarray,
    seconds: np.ndarray,
    by_role: bool,
    asked: np.ndarray,
    candidates: np.ndarray,
    out: np.ndarray,
    met: np.ndarray,
) -> None:
    """Query and then add each event of a chunk.

    `asked` (E) holds each event's row of `candidates` (M, 2, C), `out` (M, 2, C, F) and `met` (M, 2, C), or
    −1 for no query. Candidates are for the target of u, and for the actor on v; without roles, both are for a
    partner.
    """
    for event in range(len(u)):
        row = asked[event]
        if row >= 0:
            begin(history, moment, seconds[event])
            ask(history, moment, columns, u[event], True, candidates[row, 0], out[row, 0], met[row, 0])
            ask(history, moment, columns, v[event], not by_role, candidates[row, 1], out[row, 1], met[row, 1])
        enter_event(history, u[event], v[event], event_type[event], is_tie[event], seconds[event], by_role)


@compiled
def ask_once(
    history: History,
    moment: Moment,
    columns: Columns,
    now: float,
    anchor: int,
    acts: bool,
    others: np.ndarray,
    out: np.ndarray,
    met: np.ndarray,
) -> None:
    """Write the statistics of one node with `others`, at any time from the last event on, to `out` (C, F)."""
    begin(history, moment, now)
    ask(history, moment, columns, anchor, acts, others, out, met)
