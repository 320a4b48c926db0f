"""Ranking of every node as an event's target and as its actor, with statistics shared by all seeds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.history.moment import SMALL
from model.history.reading import Answers, Pass
from model.history.statistics import ACTOR, BETWEEN, MOMENT, PAST, TARGET
from model.rem.network import Layout, Weights, from_first, log_intensities, seeds_of
from model.stream import COMMUNICATION, Stream
from pipeline.results.metrics import mid_ranks

ROWS_AT_ONCE = 8192  # pairs scored together: a network's first layer stays in the processor's cache
MOST_SCORED = 100_000_000  # pairs scored to rank a period; a large network ranks a part of its events


@torch.no_grad()
def scored_answers(weights: Weights, layout: Layout, answers: Answers) -> Tensor:
    """Return the scores to rank by, the logs of the parts of λ, for M pairs: (S, M, outputs)."""
    x = torch.from_numpy(layout.inputs_of(answers.x))
    return log_intensities(weights, layout, x, torch.from_numpy(answers.met))


@torch.no_grad()
def score_everyone(
    weights: Weights, layout: Layout, answers: Answers, anchors: np.ndarray, *, acts: bool
) -> np.ndarray:
    """Return log λ of each anchor (B), which `acts` or is acted on, with every node: (B, N) → (S, B, N).

    Up to rounding this is log λ of `scored_answers`, with a fraction of the products: inputs that all
    candidates of an anchor share (the moment, the anchor, having no past) are multiplied once, from the
    anchor's row with itself.
    """
    events, nodes = answers.met.shape
    x = torch.from_numpy(layout.inputs_of(answers.x))  # (B, N, F)
    itself = x[torch.arange(events), torch.from_numpy(anchors)]  # (B, F)
    rows = x.view(events * nodes, -1)
    met = torch.from_numpy(answers.met).flatten().nonzero().squeeze(1)
    of_met = rows[met]
    fixed = np.isin(layout.blocks, (MOMENT, ACTOR if acts else TARGET, PAST))
    own = int(np.searchsorted(layout.blocks, PAST))  # where the pair's past begins
    past = of_met[:, own:] - itself[:, own:][met // nodes]
    varying = slice(*np.searchsorted(layout.blocks, (BETWEEN, PAST) if acts else (ACTOR, TARGET)))
    result = np.empty((len(next(iter(weights.values()))), events, nodes), np.float32)
    for number, of_seed in enumerate(seeds_of(weights)):
        value = edges = None
        for part in layout.parts:
            bias, matrix = of_seed[f"{part.name}.first_bias"], of_seed[f"{part.name}.first"]
            if part.for_met:
                edges = from_first(of_seed, part, torch.addmm(bias, of_met, matrix))
                continue
            same = torch.from_numpy(np.flatnonzero(fixed[: part.inputs]))
            shared = torch.addmm(bias, itself[:, same], matrix[same])  # (B, H + 1)
            first = (rows[:, varying] @ matrix[varying]).view(events, nodes, -1).add_(shared[:, None])
            first = first.flatten(0, 1)
            if part.inputs > own:
                first.index_add_(0, met, past @ matrix[own:])
            value = from_first(of_seed, part, first)[:, 0]
        assert value is not None
        if edges is not None:
            value[met] = torch.cat([value[met, None], edges], 1).logsumexp(1)
        result[number] = value.view(events, nodes).numpy()
    return result


def positions_to_rank(stream: Stream, begin: int, end: int) -> np.ndarray:
    """Return the positions of the events in `[begin, end)` to rank: all of them, if affordable.

    Otherwise return evenly spaced communications, as many as `MOST_SCORED` pairs allow.
    """
    most = MOST_SCORED // (2 * stream.nodes)
    if end - begin <= most:
        return np.arange(begin, end)
    every = begin + np.flatnonzero(stream.k[begin:end] == COMMUNICATION)
    if len(every) <= most:
        return every
    return every[np.linspace(0, len(every) - 1, max(most, 1)).round().astype(int)]


def rem_ranks(
    reading: Pass, ranked: np.ndarray, weights: Weights, layout: Layout, advance: Callable[[int], None]
) -> np.ndarray:
    """Rank the target and the actor of the events at the positions `ranked`: (S, E, 2).

    `reading` must stand before the first and standardize as the weights require. The weights do not change;
    every event enters the history after its turn, ranked or not.
    """
    stream = reading.events.stream
    nodes, seeds = stream.nodes, len(next(iter(weights.values())))
    if nodes > SMALL:
        return rank_among_many(reading, ranked, weights, layout, advance)
    batch = max(1, ROWS_AT_ONCE // (2 * nodes))
    ranks = np.empty((seeds, len(ranked), 2))
    for start in range(0, len(ranked), batch):
        chunk = ranked[start : start + batch]
        everyone = np.broadcast_to(np.arange(nodes), (len(chunk), 2, nodes))
        x, met = reading.read(int(chunk[-1]) + 1, chunk, everyone)
        ends = stream.u[chunk], stream.v[chunk]
        for side in range(2):
            anchors, truth = ends[side], ends[1 - side]
            answers = Answers(np.ascontiguousarray(x[:, side]), met[:, side])
            scores = score_everyone(weights, layout, answers, anchors, acts=side == 0 or not reading.by_role)
            ranks[:, start : start + batch, side] = [mid_ranks(of, truth, anchors) for of in scores]
        advance(len(chunk))
    return ranks


def rank_among_many(
    reading: Pass, ranked: np.ndarray, weights: Weights, layout: Layout, advance: Callable[[int], None]
) -> np.ndarray:
    """Rank as `rem_ranks` in a large network: one event at a time, with inactive nodes in bulk."""
    ranks = np.empty((len(next(iter(weights.values()))), len(ranked), 2))
    for row, event in enumerate(ranked.tolist()):
        reading.skip(event)
        for side in range(2):
            ranks[:, row, side] = compare(reading, event, side, weights, layout).ranks
        advance(1)
    return ranks


class Comparison(NamedTuple):
    """log λ of an event's node with M candidates that represent all nodes, and the truth's position."""

    scores: np.ndarray  # (S, M)
    weight: np.ndarray  # (M) number of nodes that each represents
    truth: int

    @property
    def ranks(self) -> np.ndarray:
        """0-based rank of the truth among all nodes, by the rule of `mid_ranks`: (S)."""
        own = self.scores[:, self.truth, None]
        above, level = ((self.scores > own) * self.weight).sum(1), (self.scores == own) * self.weight
        return above + (level.sum(1) - 1) / 2

    @property
    def log_share(self) -> np.ndarray:
        """Logarithm of the truth's share in λ of all nodes: (S)."""
        scores = self.scores.astype(np.float64)
        largest = scores.max(1)
        total = (self.weight * np.exp(scores - largest[:, None])).sum(1)
        return scores[:, self.truth] - largest - np.log(total)


def compare(reading: Pass, event: int, side: int, weights: Weights, layout: Layout) -> Comparison:
    """Score candidates for the target (side 0) or the actor (side 1) of the next event of `reading`."""
    stream = reading.events.stream
    ends = int(stream.u[event]), int(stream.v[event])
    anchor, truth = ends[side], ends[1 - side]
    nodes, weight = ranked_candidates(reading, anchor)
    acts, now = side == 0 or not reading.by_role, float(stream.seconds[event])
    scores = score_candidates(reading, weights, layout, anchor, now, nodes, acts=acts)
    # An inactive truth is represented by the last candidate.
    place = min(int(np.searchsorted(nodes[:-1], truth)), len(nodes) - 1)
    return Comparison(scores, weight, place if nodes[place] == truth else len(nodes) - 1)


def ranked_candidates(reading: Pass, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """Return candidates (M) that represent all nodes but the anchor, and how many each represents (M).

    Nodes without any event or tie have the same statistics with everyone, so one of them, the last candidate,
    represents all of them. With own columns they differ, and each is a candidate.
    """
    degree = reading.history.degree  # (N, 5)
    seen = np.ones(len(degree), bool) if reading.own is not None else degree.max(1) > 0
    silent = np.flatnonzero(~seen)
    silent = silent[silent != anchor]
    seen[anchor] = False
    nodes = np.concatenate([np.flatnonzero(seen), silent[:1]])
    weight = np.ones(len(nodes))
    if len(silent):
        weight[-1] = len(silent)
    return nodes, weight


def score_candidates(
    reading: Pass,
    weights: Weights,
    layout: Layout,
    anchor: int,
    now: float,
    nodes: np.ndarray,
    *,
    acts: bool,
) -> np.ndarray:
    """Return log λ of an anchor, which `acts` or is acted on, with `nodes` at second `now`: (S, M)."""
    parts = []
    for start in range(0, len(nodes), ROWS_AT_ONCE):
        part = np.concatenate([[anchor], nodes[start : start + ROWS_AT_ONCE]])  # source of the shared inputs
        x, met = reading.ask(anchor, now, acts=acts, others=part)
        scores = score_everyone(weights, layout, Answers(x[None], met[None]), np.zeros(1, int), acts=acts)
        parts.append(scores[:, 0, 1:])
    return np.concatenate(parts, 1)
