"""Ranking every node as an event's target and as its actor, the statistics made once for all seeds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.history.reading import Pass
from model.rem.learning import seen_columns
from model.rem.network import Layout, from_first, log_intensities, log_intensity
from model.rem.standard import Standard
from pipeline.results.metrics import mid_ranks

ROWS_AT_ONCE = 8192  # pairs of nodes scored together: bounds memory whatever the number of nodes


@dataclass(frozen=True)
class Columns:
    """Inputs of a network by how they vary among the candidates of one node.

    `fixed` ones are the same for all: those of the node itself and of the moment. `own` ones are the same for
    all pairs without a past, which most are. `varying` are the rest.
    """

    fixed: np.ndarray
    own: np.ndarray
    varying: np.ndarray


def columns_of(layout: Layout, names: dict[str, tuple[str, ...]], *, acts: bool) -> Columns:
    """The columns when the known node `acts`, or is acted on."""
    flat = [(group, name) for group, members in names.items() for name in members]
    mine, others = ("a_", "b_") if acts else ("b_", "a_")
    fixed = np.array(
        [
            name.startswith(mine) or (group == "clock" and not name.startswith(others))
            for group, name in (flat[column] for column in layout.columns)
        ]
    )
    return Columns(*(np.flatnonzero(which) for which in (fixed, layout.own, ~fixed & ~layout.own)))


@torch.no_grad()
def score(
    weights: dict[str, Tensor], layout: Layout, standard: Standard, raw: np.ndarray, seen_at: list[int]
) -> Tensor:
    """Logarithms of the parts of λ for raw statistics (M, F): (S, M, outputs)."""
    seen = torch.from_numpy((raw[:, seen_at] > 0).any(1))
    return log_intensities(weights, layout, torch.from_numpy(standard(raw[:, layout.columns])), seen)


@torch.no_grad()
def score_everyone(
    weights: dict[str, Tensor],
    layout: Layout,
    standard: Standard,
    raw: np.ndarray,
    anchors: np.ndarray,
    columns: Columns,
    seen_at: list[int],
) -> np.ndarray:
    """log λ of each anchor (B) with every node, from raw statistics (B, N, F): (S, B, N).

    The same as `score` up to rounding, with less than half of the products: what does not vary among the
    candidates is multiplied once. The row of an anchor with itself has no past and stands for all such.
    """
    events, nodes, _ = raw.shape
    seen = (raw[:, :, seen_at] > 0).any(2)  # (B, N)

    def inputs(rows: np.ndarray, which: np.ndarray) -> Tensor:
        return torch.from_numpy(standard.part(rows[..., layout.columns[which]], which))

    itself = raw[np.arange(events), anchors]  # (B, F)
    fixed, unmet = inputs(itself, columns.fixed), inputs(itself, columns.own)
    varying = inputs(raw, columns.varying).view(events * nodes, -1)
    met = np.flatnonzero(seen)
    past = inputs(raw.reshape(events * nodes, -1)[met], columns.own) - unmet[met // nodes]
    flags, rows = torch.from_numpy(seen).flatten(), torch.from_numpy(met)
    result = np.empty((len(weights["first"]), events, nodes), np.float32)
    for seed in range(len(result)):
        of_seed = {name: tensor[seed] for name, tensor in weights.items()}
        matrix = of_seed["first"]
        shared = of_seed["first_bias"] + fixed @ matrix[columns.fixed] + unmet @ matrix[columns.own]
        first = (
            (varying @ matrix[columns.varying]).view(events, nodes, -1).add_(shared[:, None]).flatten(0, 1)
        )
        first.index_add_(0, rows, past @ matrix[columns.own])
        parts = from_first(of_seed, layout, first, flags)
        result[seed] = log_intensity(parts[None])[0].view(events, nodes).numpy()
    return result


def rank_events(
    reading: Pass,
    end: int,
    weights: dict[str, Tensor],
    layout: Layout,
    standard: Standard,
    advance: Callable[[int], None],
) -> np.ndarray:
    """Ranks of the target and of the actor of each event from where `reading` stands to `end`: (S, E, 2).

    Weights stay as they are; every event enters the history after it was ranked.
    """
    stream = reading.events.stream
    nodes, seeds = stream.nodes, len(weights["first"])
    batch = max(1, ROWS_AT_ONCE // (2 * nodes))
    seen_at = seen_columns(reading.names)
    sides = [columns_of(layout, reading.names, acts=acts or not reading.by_role) for acts in (True, False)]
    ranked = []
    while reading.position < end:
        chunk = np.arange(reading.position, min(reading.position + batch, end))
        everyone = np.broadcast_to(np.arange(nodes), (len(chunk), 2, nodes))
        raw = reading.read(int(chunk[-1]) + 1, chunk, everyone)
        ends = stream.u[chunk], stream.v[chunk]
        ranks = np.empty((seeds, len(chunk), 2))
        for side, columns in enumerate(sides):
            known, truth = ends[side], ends[1 - side]
            scores = score_everyone(weights, layout, standard, raw[:, side], known, columns, seen_at)
            ranks[:, :, side] = [mid_ranks(of, truth, known) for of in scores]
        ranked.append(ranks)
        advance(len(chunk))
    return np.concatenate(ranked, 1) if ranked else np.empty((seeds, 0, 2))
