"""Reading a stream event by event, and asking for statistics on the way."""

import numpy as np

from model.history.events import Events
from model.history.passes import ask_once, pass_over
from model.history.registry import groups, rescale, scales
from model.history.room import with_room
from model.history.state import NEVER, History, new_history
from model.history.statistics import new_moment
from model.history.update import tie


class Pass:
    """The history of a stream as far as it was read, and the statistics of what is asked on the way."""

    def __init__(self, events: Events, *, by_role: bool = True, history: History | None = None) -> None:
        self.events, self.by_role = events, by_role
        nodes = events.stream.nodes
        self.scales = scales(len(events.types))
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
        self.history = with_room(
            self.history, 2 * (end - begin), 6 * (end - begin) * (1 if self.by_role else 2)
        )
        # Numba compiles again for another layout: a view, such as a broadcast, is written out.
        candidates = np.array(candidates, np.int64, order="C")
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
        return rescale(out, self.scales)

    def ask(self, node: int, now: float, *, acts: bool = True) -> np.ndarray:
        """Statistics of `node` with every node at second `now`, nothing entering: (N, F).

        With `acts` those of node→other, else of other→node.
        """
        everyone = np.arange(self.events.stream.nodes)
        out = np.empty((len(everyone), self.width), np.float32)
        forward = acts or not self.by_role
        ask_once(self.history, self.moment, now, node, forward, everyone, self.starts, out)
        return rescale(out, self.scales)

    def skip(self, end: int) -> None:
        """Go on to `end` without asking."""
        self.read(end, np.empty(0, np.int64), np.empty((0, 2, 1), np.int64))
