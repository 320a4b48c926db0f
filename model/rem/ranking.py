"""Ranking every node as an event's target and as its actor, the statistics made once for all seeds."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from model.history.reading import Pass
from model.rem.learning import seen_columns
from model.rem.network import Layout, log_intensities, log_intensity
from model.rem.standard import Standard
from pipeline.results.metrics import mid_ranks

ROWS_AT_ONCE = 8192  # pairs of nodes scored together: bounds memory whatever the number of nodes


@torch.no_grad()
def score(
    weights: dict[str, Tensor], layout: Layout, standard: Standard, raw: np.ndarray, seen_at: list[int]
) -> Tensor:
    """Logarithms of the parts of λ for raw statistics (M, F): (S, M, outputs)."""
    seen = torch.from_numpy((raw[:, seen_at] > 0).any(1))
    return log_intensities(weights, layout, torch.from_numpy(standard(raw[:, layout.columns])), seen)


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
    ranked = []
    while reading.position < end:
        chunk = np.arange(reading.position, min(reading.position + batch, end))
        everyone = np.broadcast_to(np.arange(nodes), (len(chunk), 2, nodes))
        raw = reading.read(int(chunk[-1]) + 1, chunk, everyone).reshape(-1, reading.width)
        parts = score(weights, layout, standard, raw, seen_at)
        scores = log_intensity(parts).view(seeds, len(chunk), 2, nodes).numpy()
        u, v = stream.u[chunk], stream.v[chunk]
        ranked.append(
            np.stack([[mid_ranks(of[:, 0], v, u), mid_ranks(of[:, 1], u, v)] for of in scores]).transpose(
                0, 2, 1
            )
        )
        advance(len(chunk))
    return np.concatenate(ranked, 1) if ranked else np.empty((seeds, 0, 2))
