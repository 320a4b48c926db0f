"""One causal pass over a stream: each event is asked about from what came before it, then enters."""

import numpy as np

from model.history.compiled import compiled
from model.history.paths import walk
from model.history.state import History
from model.history.statistics import Moment, begin, fill
from model.history.update import observe


@compiled
def ask(
    history: History,
    moment: Moment,
    anchor: int,
    forward: bool,
    others: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """Statistics of anchor→other (or other→anchor) for all `others` at a moment that has begun: (C, F)."""
    walk(history, anchor, forward, moment.inverse, moment.middle, moment.touched, moment.paths)
    for row in range(len(others)):
        fill(history, moment, anchor, others[row], forward, starts, out[row], out[0], row > 0)


@compiled
def enter(history: History, u: int, v: int, event_type: int, is_tie: bool, now: float, by_role: bool) -> None:
    """An event enters the history; without roles it counts for both directions."""
    if by_role:
        observe(history, u, v, event_type, is_tie, now)
    else:  # in an order that does not tell who acted
        observe(history, min(u, v), max(u, v), event_type, is_tie, now)
        observe(history, max(u, v), min(u, v), event_type, is_tie, now)


@compiled
def pass_over(
    history: History,
    moment: Moment,
    u: np.ndarray,
    v: np.ndarray,
    event_type: np.ndarray,
    is_tie: np.ndarray,
    seconds: np.ndarray,
    by_role: bool,
    asked: np.ndarray,
    candidates: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """Ask about and then enter each event of a chunk.

    `asked` (E) holds the row of `candidates` (M, 2, C) and `out` (M, 2, C, F) for each event, −1 for one that
    is not asked about: candidates for the target of u, and for the actor on v. Without roles, both are
    candidates for a partner.
    """
    for event in range(len(u)):
        row = asked[event]
        if row >= 0:
            begin(history, moment, seconds[event])
            ask(history, moment, u[event], True, candidates[row, 0], starts, out[row, 0])
            ask(history, moment, v[event], not by_role, candidates[row, 1], starts, out[row, 1])
        enter(history, u[event], v[event], event_type[event], is_tie[event], seconds[event], by_role)


@compiled
def ask_once(
    history: History,
    moment: Moment,
    now: float,
    anchor: int,
    forward: bool,
    others: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """Statistics of one node with `others` at any moment from the last event on: (C, F)."""
    begin(history, moment, now)
    ask(history, moment, anchor, forward, others, starts, out)
