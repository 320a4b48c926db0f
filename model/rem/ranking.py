"""Ranking every node as an event's target and as its actor, the statistics made once for all seeds."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from model.history.reading import Answers, Pass
from model.history.statistics import ACTOR, BETWEEN, MOMENT, PAST, TARGET
from model.rem.network import Layout, Weights, from_first, log_intensities, seeds_of
from pipeline.results.metrics import mid_ranks

ROWS_AT_ONCE = 8192  # pairs of nodes scored together: a network's first layer stays in the processor's cache


@torch.no_grad()
def score(weights: Weights, layout: Layout, answers: Answers) -> Tensor:
    """Logarithms of the parts of λ for standardized statistics of M pairs: (S, M, outputs)."""
    x = torch.from_numpy(layout.inputs_of(answers.x))
    return log_intensities(weights, layout, x, torch.from_numpy(answers.met))


@torch.no_grad()
def score_everyone(
    weights: Weights, layout: Layout, answers: Answers, anchors: np.ndarray, *, acts: bool
) -> np.ndarray:
    """log λ of each anchor (B), which `acts` or is acted on, with every node: answers (B, N) → (S, B, N).

    The same as `score` up to rounding, with a fraction of the products: what is the same for all candidates
    of an anchor (the moment, itself, and having no past) is multiplied once, from its row with itself.
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


def rank_events(
    reading: Pass, end: int, weights: Weights, layout: Layout, advance: Callable[[int], None]
) -> np.ndarray:
    """Ranks of the target and of the actor of each event from where `reading` stands to `end`: (S, E, 2).

    `reading` standardizes as the weights ask for. They stay as they are; every event enters the history after
    it was ranked.
    """
    stream = reading.events.stream
    nodes, seeds = stream.nodes, len(next(iter(weights.values())))
    batch = max(1, ROWS_AT_ONCE // (2 * nodes))
    ranked = []
    while reading.position < end:
        chunk = np.arange(reading.position, min(reading.position + batch, end))
        everyone = np.broadcast_to(np.arange(nodes), (len(chunk), 2, nodes))
        x, met = reading.read(int(chunk[-1]) + 1, chunk, everyone)
        ends = stream.u[chunk], stream.v[chunk]
        ranks = np.empty((seeds, len(chunk), 2))
        for side in range(2):
            known, truth = ends[side], ends[1 - side]
            answers = Answers(np.ascontiguousarray(x[:, side]), met[:, side])
            scores = score_everyone(weights, layout, answers, known, acts=side == 0 or not reading.by_role)
            ranks[:, :, side] = [mid_ranks(of, truth, known) for of in scores]
        ranked.append(ranks)
        advance(len(chunk))
    return np.concatenate(ranked, 1) if ranked else np.empty((seeds, 0, 2))
