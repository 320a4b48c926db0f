"""One causal pass over a stream: each event is asked about from what came before it, then enters."""

from collections.abc import Iterator

import numpy as np

from model.history.compiled import compiled
from model.history.events import Events
from model.history.paths import walk
from model.history.room import with_room
from model.history.state import NEVER, History, new_history
from model.history.statistics import Moment, begin, fill, groups, new_moment
from model.history.update import observe, tie


@compiled
def ask(
    history: History, moment: Moment, anchor: int, forward: bool, others: np.ndarray, starts: np.ndarray, out: np.ndarray
) -> None:
    """Statistics of anchor→other (or other→anchor) for all `others` at a moment that has begun: (C, F)."""
    walk(history, anchor, forward, moment.inverse, moment.middle, moment.touched, moment.paths)
    for row in range(len(others)):
        other = others[row]
        if forward:
            fill(history, moment, anchor, other, other, starts, out[row])
        else:
            fill(history, moment, other, anchor, other, starts, out[row])


@compiled
def enter(history: History, u: int, v: int, event_type: int, is_tie: bool, now: float, by_role: bool) -> None:
    """An event enters the history; without roles it counts for both directions."""
    observe(history, u, v, event_type, is_tie, now)
    if not by_role:
        observe(history, v, u, event_type, is_tie, now)


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


class Pass:
    """The history of a stream as far as it was read, and the statistics of what is asked on the way."""

    def __init__(self, events: Events, *, by_role: bool = True, history: History | None = None) -> None:
        self.events, self.by_role = events, by_role
        nodes = events.stream.nodes
        self.names = groups(len(events.types))
        self.starts = np.cumsum([0, *(len(names) for names in self.names.values())])
        self.moment = new_moment(nodes)
        if history is None:
            history = new_history(nodes, len(events.types), events.day_offset, events.week_offset)
            history = with_room(history, 2 * len(events.ties), 0)
            for u, v in events.ties:
                tie(history, u, v, NEVER)
                if not by_role:
                    tie(history, v, u, NEVER)
        self.history = history

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return int(self.starts[-1])

    @property
    def position(self) -> int:
        """How many events have entered."""
        return int(self.history.sizes[2]) // (1 if self.by_role else 2)

    def read(self, end: int, asked: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Go on to `end`; statistics (M, 2, C, F) of the events `asked` about, in order.

        `asked` (M) holds their positions in the stream, `candidates` (M, 2, C) nodes.
        """
        begin, end, stream = self.position, int(end), self.events.stream
        chunk = slice(begin, end)
        self.history = with_room(self.history, 2 * (end - begin), 4 * (end - begin) * (1 if self.by_role else 2))
        rows = np.full(end - begin, -1)
        rows[asked - begin] = np.arange(len(asked))
        out = np.empty((*candidates.shape, self.width), np.float32)
        pass_over(
            self.history,
            self.moment,
            stream.u[chunk],
            stream.v[chunk],
            self.events.type[chunk],
            stream.k[chunk] == 0,
            stream.seconds[chunk],
            self.by_role,
            rows,
            candidates,
            self.starts,
            out,
        )
        return out

    def skip(self, end: int) -> None:
        """Go on to `end` without asking."""
        self.read(end, np.empty(0, np.int64), np.empty((0, 2, 1), np.int64))
