"""Sequential reading of a stream, with queries for statistics on the way."""

from copy import copy
from typing import NamedTuple

import numpy as np

from model.history.events import Events, statistics_of_events
from model.history.moment import new_moment
from model.history.own import OwnMemory
from model.history.passes import ask_once, pass_over
from model.history.registry import columns_of, listed
from model.history.room import MOST_STEPS, history_with_room, most_slots
from model.history.standard import Standard
from model.history.state import NEVER, History, new_history
from model.history.update import tie

READ_AT_ONCE = 1 << 18  # events per chunk; slots are reserved before each chunk


class Answers(NamedTuple):
    """Result of a query: statistics (…, F) float32 of each pair, and whether it has a past event (…)."""

    x: np.ndarray
    met: np.ndarray


class Pass:
    """The history of a stream up to the current position, and queries for its statistics.

    Statistics have the scale named in `registry.listed`; with a `standard`, they are also standardized.
    """

    def __init__(
        self,
        events: Events,
        *,
        by_role: bool = True,
        standard: Standard | None = None,
        history: History | None = None,
    ) -> None:
        self.events, self.by_role = events, by_role
        nodes = events.stream.nodes
        self.statistics, self.standard_of_own = statistics_of_events(events), None
        listed_for_all = listed(len(events.types))
        self.width = len(listed_for_all)
        self.own = None if events.own is None else OwnMemory(events.stream, events.own, by_role=by_role)
        if self.own is not None and history is not None:
            raise ValueError("history takes None where events have own columns, whose past it does not hold")
        if self.own is not None and standard is not None:
            standard, self.standard_of_own = standard.split(self.width)
        self.columns = columns_of(listed_for_all, standard)
        self.moment = new_moment(nodes, self.width)
        if history is None:
            history = new_history(nodes, len(events.types), events.day_offset, events.week_offset)
            pairs, steps = most_slots(len(events.stream), by_role=by_role)
            history = history_with_room(history, 2 * len(events.ties) + pairs, min(steps, MOST_STEPS))
            for u, v in events.ties:
                tie(history, u, v, NEVER)
                if not by_role:
                    tie(history, v, u, NEVER)
        self.history = history

    def as_listed(self) -> "Pass":
        """Return a shallow copy on the same history whose statistics are not standardized."""
        plain = copy(self)
        plain.columns, plain.standard_of_own = columns_of(listed(len(self.events.types)), None), None
        return plain

    @property
    def position(self) -> int:
        """Number of events read so far."""
        return int(self.history.sizes[2]) // (1 if self.by_role else 2)

    def room_for(self, *shape: int) -> Answers:
        """Allocate answers for pairs of this shape."""
        return Answers(np.empty((*shape, self.width), np.float32), np.empty(shape, np.bool_))

    def append_own(self, answers: Answers, statistics: np.ndarray) -> Answers:
        """Append the statistics of own columns to the others."""
        if self.standard_of_own is not None:
            statistics = self.standard_of_own(statistics)
        return Answers(np.concatenate([answers.x, statistics], -1), answers.met)

    def read(self, end: int, asked: np.ndarray, candidates: np.ndarray) -> Answers:
        """Read events up to `end`; return answers (M, 2, C) for the `asked` events, in order.

        `asked` (M) holds their positions in the stream, `candidates` (M, 2, C) nodes.
        """
        begin, end, stream = self.position, int(end), self.events.stream
        # Numba recompiles for another memory layout, so views such as broadcasts are materialized.
        candidates = np.array(candidates, np.int64, order="C")
        rows = np.full(end - begin, -1)
        rows[asked - begin] = np.arange(len(asked))
        answers = self.room_for(*candidates.shape)
        for start in range(begin, end, READ_AT_ONCE):
            part = slice(start, min(start + READ_AT_ONCE, end))
            self.history = history_with_room(
                self.history, *most_slots(part.stop - start, by_role=self.by_role)
            )
            pass_over(
                self.history,
                self.moment,
                self.columns,
                stream.u[part],
                stream.v[part],
                self.events.type[part],
                stream.k[part] == 0,
                stream.seconds[part],
                self.by_role,
                rows[start - begin : part.stop - begin],
                candidates,
                *answers,
            )
        if self.own is None:
            return answers
        return self.append_own(answers, self.own.read(slice(begin, end), rows, candidates))

    def ask(self, node: int, now: float, *, acts: bool = True, others: np.ndarray | None = None) -> Answers:
        """Return answers (N) for `node` with `others` (default: all) at second `now`, reading no event.

        `acts` selects node→other, otherwise other→node; without roles it is always node→other.
        """
        others = np.arange(self.events.stream.nodes) if others is None else others
        answers = self.room_for(len(others))
        acts = acts or not self.by_role
        ask_once(self.history, self.moment, self.columns, now, node, acts, others, *answers)
        if self.own is None:
            return answers
        return self.append_own(answers, self.own.ask(node, now, acts=acts, others=others))

    def skip(self, end: int) -> None:
        """Read events up to `end` without queries."""
        self.read(end, np.empty(0, np.int64), np.empty((0, 2, 1), np.int64))
