"""Reading a stream event by event, and asking for statistics on the way."""

from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from model.history.events import Events, statistics_of_events
from model.history.latent import LatentMemory
from model.history.moment import new_moment
from model.history.own import OwnMemory
from model.history.passes import ask_once, pass_over
from model.history.registry import Statistic, columns_of, listed
from model.history.room import MOST_STEPS, history_with_room, most_slots
from model.history.standard import Standard
from model.history.state import NEVER, History, new_history
from model.history.update import tie

READ_AT_ONCE = 1 << 18  # events that room is made for ahead of reading them


class Answers(NamedTuple):
    """What is known of pairs: their statistics (…, F) float32, and whether they have a past (…)."""

    x: np.ndarray
    met: np.ndarray


class Memory(Protocol):
    """What statistics beside those of all streams are read from, as far as the stream was read."""

    statistics: tuple[Statistic, ...]

    def read(self, chunk: slice, asked: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Let the events of `chunk` enter; statistics (M, 2, C, F) of those asked about."""
        ...

    def ask(self, node: int, now: float, *, acts: bool, others: np.ndarray) -> np.ndarray:
        """Statistics (N, F) of `node` with `others` at second `now`, nothing entering."""
        ...


def memories_of(events: Events, *, by_role: bool) -> tuple[Memory, ...]:
    """Those of own columns and of a trained LDG, before the first event; most streams have neither."""
    own, course, stream = events.own, events.course, events.stream
    return (
        *(() if own is None else (OwnMemory(stream, own, by_role=by_role),)),
        *(() if course is None else (LatentMemory(stream, course, by_role=by_role),)),
    )


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
        memories: tuple[Memory, ...] | None = None,
    ) -> None:
        self.events, self.by_role = events, by_role
        nodes = events.stream.nodes
        self.statistics, self.standard_beside = statistics_of_events(events), None
        listed_for_all = listed(len(events.types))
        self.width = len(listed_for_all)
        if memories is None:
            memories = memories_of(events, by_role=by_role)
            if history is not None and memories:
                raise ValueError("memories takes those that go with this history, not None")
        self.memories = memories
        if memories and standard is not None:
            standard, self.standard_beside = standard.split(self.width)
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
        plain.columns, plain.standard_beside = columns_of(listed(len(self.events.types)), None), None
        return plain

    @property
    def position(self) -> int:
        """How many events have entered."""
        return int(self.history.sizes[2]) // (1 if self.by_role else 2)

    def room_for(self, *shape: int) -> Answers:
        """Answers about so many pairs, to be filled in."""
        return Answers(np.empty((*shape, self.width), np.float32), np.empty(shape, np.bool_))

    def with_memories(self, answers: Answers, of_memories: list[np.ndarray]) -> Answers:
        """Answers with the statistics of all memories after the others."""
        if not of_memories:
            return answers
        statistics = np.concatenate(of_memories, -1)
        if self.standard_beside is not None:
            statistics = self.standard_beside(statistics)
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
        chunk = slice(begin, end)
        return self.with_memories(answers, [memory.read(chunk, rows, candidates) for memory in self.memories])

    def ask(self, node: int, now: float, *, acts: bool = True, others: np.ndarray | None = None) -> Answers:
        """Answers (N) about `node` with `others`, or with every node, at second `now`, nothing entering.

        With `acts` about node→other, else about other→node.
        """
        others = np.arange(self.events.stream.nodes) if others is None else others
        answers = self.room_for(len(others))
        acts = acts or not self.by_role
        ask_once(self.history, self.moment, self.columns, now, node, acts, others, *answers)
        return self.with_memories(
            answers, [memory.ask(node, now, acts=acts, others=others) for memory in self.memories]
        )

    def skip(self, end: int) -> None:
        """Go on to `end` without asking."""
        self.read(end, np.empty(0, np.int64), np.empty((0, 2, 1), np.int64))
