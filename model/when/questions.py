"""Queries for pair hazards: a node at a moment, with all other nodes as candidates for its next event."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.history.events import Events
from model.history.moment import SMALL
from model.history.reading import Pass
from model.rem.audience import MOST, partners_of
from model.stream import COMMUNICATION, Stream

MOST_ROWS = 4_000_000  # bounds the pairs with statistics, and so the time for many nodes


@dataclass(frozen=True)
class Questions:
    """Nodes and moments in time order; `position` events have happened by then."""

    node: np.ndarray  # (Q) int64
    second: np.ndarray  # (Q) float64
    position: np.ndarray  # (Q) int64

    def __len__(self) -> int:
        return len(self.node)

    def __getitem__(self, rows: np.ndarray) -> "Questions":
        return Questions(self.node[rows], self.second[rows], self.position[rows])


@dataclass(frozen=True)
class Answers:
    """Training rows: a pair's statistics, and the wait until the node acts on the candidate.

    A wait that has not ended when the events stop is `open` (censored): `seconds` is its observed length.
    """

    statistics: np.ndarray  # (M, F) float32
    seconds: np.ndarray  # (M) float64
    open: np.ndarray  # (M) bool
    weight: np.ndarray  # (M) float64, number of pairs that the row represents
    moment: np.ndarray  # (M) float64, the question's time in seconds
    just_met: np.ndarray  # (M) bool, the event just before is the pair's
    end: float  # when the events stop


def stop(stream: Stream, end: int) -> float:
    """Return the censoring time, in seconds, of the events before `end`: that of event `end`, or the last."""
    return float(stream.seconds[min(end, len(stream) - 1)])


class NextEvents:
    """An index of the time to a node's next communication with each other node, from any position."""

    def __init__(self, stream: Stream, end: int) -> None:
        self.stream, self.end = stream, end
        self.until = stop(stream, end)
        listed = np.flatnonzero(stream.k[:end] == COMMUNICATION)
        order = np.argsort(stream.u[listed], kind="stable")
        self.events = listed[order]  # node by node, each node's in order
        self.starts = np.searchsorted(stream.u[self.events], np.arange(stream.nodes + 1))

    def after(self, node: int, position: int, second: float) -> tuple[np.ndarray, np.ndarray]:
        """Return seconds until `node` acts on each node (N), and a mask of those censored at the end (N)."""
        events = self.events[self.starts[node] : self.starts[node + 1]]
        later = events[np.searchsorted(events, position) :][::-1]  # the earliest is written last
        seconds = np.full(self.stream.nodes, self.until - second)
        still_open = np.ones(self.stream.nodes, dtype=bool)
        seconds[self.stream.v[later]] = self.stream.seconds[later] - second
        still_open[self.stream.v[later]] = False
        return seconds, still_open


def after_events(stream: Stream, begin: int, end: int) -> Questions:
    """Return a question about the acting node of each communication in `[begin, end)`, right after it."""
    events = begin + np.flatnonzero(stream.k[begin:end] == COMMUNICATION)
    return Questions(stream.u[events], stream.seconds[events], events + 1)


def at_moments(stream: Stream, node: np.ndarray, second: np.ndarray) -> Questions:
    """Return questions about nodes at given moments; events at that second count as past."""
    return Questions(node, second, np.searchsorted(stream.seconds, second, side="right"))


def learning_questions(stream: Stream, end: int, most: int, seed: int) -> Questions:
    """Sample questions before `end`: half nodes at random moments, half actors just after an event.

    There are at most as many as events (but two or more). The first tenth of the time is history only.
    """
    random = np.random.default_rng([seed, 2_014])
    rows = stream.nodes if stream.nodes <= SMALL else MOST  # of a question
    count = max(2, min(most, end, MOST_ROWS // rows)) // 2
    last = float(stream.seconds[end - 1])
    moments = at_moments(
        stream, random.integers(0, stream.nodes, count), random.uniform(last / 10, last, count)
    )
    acted = after_events(stream, int(np.searchsorted(stream.seconds, last / 10)), end)
    acted = acted[random.permutation(len(acted))[:count]]
    merged = Questions(
        *(
            np.concatenate([getattr(moments, name), getattr(acted, name)])
            for name in ("node", "second", "position")
        )
    )
    return merged[np.lexsort((merged.second, merged.position))]


def readings(events: Events, questions: Questions) -> Iterator[tuple[Pass, int, float]]:
    """Yield per question the pass over the events before its position, its node and its second."""
    reading = Pass(events)
    for node, second, position in zip(questions.node, questions.second, questions.position, strict=True):
        if position > reading.position:
            reading.skip(position)
        yield reading, int(node), float(second)


def ask_pairs(events: Events, questions: Questions, targets: np.ndarray) -> np.ndarray:
    """Return statistics (Q, F) of each question's node with its one target (Q)."""
    pairs = zip(readings(events, questions), targets, strict=True)
    return np.concatenate(
        [reading.ask(node, second, others=np.array([target])).x for (reading, node, second), target in pairs]
    )


def ask_all(events: Events, questions: Questions, end: int, strangers: int, seed: int) -> Answers:
    """Return all pairs with a past or a later event, and per question a weighted sample of `strangers`.

    Statistics use the events before the question's position, waits those before `end`.
    """
    stream, ahead = events.stream, NextEvents(events.stream, end)
    random = np.random.default_rng([seed, 2_015])
    parts = []
    for position, target, (reading, node, moment) in zip(
        questions.position, just_met(stream, questions), readings(events, questions), strict=True
    ):
        seconds, still_open = ahead.after(node, int(position), moment)
        nodes = candidates(reading, node, still_open, strangers, random)
        statistics, met = reading.ask(node, moment, others=nodes)
        seconds, still_open = seconds[nodes], still_open[nodes]
        rare = ~met & still_open & (nodes != node)
        others = np.flatnonzero(~rare & (nodes != node))
        drawn = random.permutation(np.flatnonzero(rare))[:strangers]
        rows = np.concatenate([others, drawn])
        left = stream.nodes - 1 - len(others)
        weight = np.concatenate([np.ones(len(others)), np.full(len(drawn), left / max(len(drawn), 1))])
        moments = np.full(len(rows), moment)
        just = nodes[rows] == target
        parts.append((statistics[rows], seconds[rows], still_open[rows], weight, moments, just))
    columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Answers(*columns, stop(stream, end))


def candidates(
    reading: Pass, node: int, still_open: np.ndarray, strangers: int, random: np.random.Generator
) -> np.ndarray:
    """Return all nodes; in a large network the latest partners, later targets and random nodes, sorted."""
    everyone = len(still_open)
    if everyone <= SMALL:
        return np.arange(everyone)
    drawn = random.integers(0, everyone, strangers)
    return np.unique(np.concatenate([partners_of(reading.history, node), np.flatnonzero(~still_open), drawn]))


def just_met(stream: Stream, questions: Questions) -> np.ndarray:
    """Return the node that each question's node (Q) acted on just before, in the same second, else −1."""
    before = questions.position - 1
    acts = (before >= 0) & (stream.u[before] == questions.node) & (stream.k[before] == COMMUNICATION)
    return np.where(acts & (stream.seconds[before] == questions.second), stream.v[before], -1)
