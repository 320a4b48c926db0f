"""Reading a stream event by event, and asking for statistics on the way."""

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

READ_AT_ONCE = 1 << 18  # events that room is made for ahead of reading them


class Answers(NamedTuple):
    """What is known of pairs: their statistics (…, F) float32, and whether they have a past (…)."""

    x: np.ndarray
    met: np.ndarray


class Pass:
    """The history of a stream as far as it was read, and the statistics of what is asked on the way.

    They are on the scale that the list of statistics names; with a `standard`, standardized by it as well.
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
        """The same history, asked for statistics that are not standardized."""
        plain = copy(self)
        plain.columns, plain.standard_of_own = columns_of(listed(len(self.events.types)), None), None
        return plain

    @property
    def position(self) -> int:
        """How many events have entered."""
        return int(self.history.sizes[2]) // (1 if self.by_role else 2)

    def room_for(self, *shape: int) -> Answers:
        """Answers about so many pairs, to be filled in."""
        return Answers(np.empty((*shape, self.width), np.float32), np.empty(shape, np.bool_))

    def append_own(self, answers: Answers, statistics: np.ndarray) -> Answers:
        """Append the statistics of own columns to the others."""
        if self.standard_of_own is not None:
            statistics = self.standard_of_own(statistics)
        return Answers(np.concatenate([answers.x, statistics], -1), answers.met)

    def read(self, end: int, asked: np.ndarray, candidates: np.ndarray) -> Answers:
        """Go on to `end`; answers (M, 2, C) about the events `asked` about, in order.

        `asked` (M) holds their positions in the stream, `candidates` (M, 2, C) nodes.
        """
        begin, end, stream = self.position, int(end), self.events.stream
        # Numba compiles again for another layout: a view, such as a broadcast, is written out.
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
        """Answers (N) about `node` with `others`, or with every node, at second `now`, nothing entering.

        With `acts` about node→other, else about other→node.
        """
        others = np.arange(self.events.stream.nodes) if others is None else others
        answers = self.room_for(len(others))
        acts = acts or not self.by_role
        ask_once(self.history, self.moment, self.columns, now, node, acts, others, *answers)
        if self.own is None:
            return answers
        return self.append_own(answers, self.own.ask(node, now, acts=acts, others=others))

    def skip(self, end: int) -> None:
        """Go on to `end` without asking."""
        self.read(end, np.empty(0, np.int64), np.empty((0, 2, 1), np.int64))
