"""The forward pass: one batch of events through the model, from embeddings to losses."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from model.attention.base import Passage
from model.attention.registry import ATTENTIONS
from model.batches import Batch, Chance, advance_clocks, draw_chance
from model.dynamics import EventLoop
from model.encoder import Workspace
from model.gnn import adjacency_of, gnn_embeddings
from model.intensity import symmetric_compatibility
from model.loss import divergence, event_intensities, survival_terms
from model.state import State
from model.stream import Stream
from pipeline.variants import Variant


@dataclass
class Losses:
    """The terms of eq. 13 per seed, summed over a batch of events."""

    events: Tensor  # (S)
    non_events: Tensor  # (S)
    kl: Tensor  # (S)


@dataclass
class Outcome(Losses):
    """The losses of a batch, with the intermediates that ranking needs."""

    batch: Batch
    versions: Tensor  # (S, R, d)
    symmetric: Tensor
    rate: Tensor  # (S, 2)


def advance_state(
    stream: Stream,
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    stop: int,
    chance: Chance,
    workspace: Workspace,
    learn: bool,
) -> Outcome:
    """Advance `state` in place through the events up to `stop`; with `learn`, losses are differentiable."""
    start = state.position
    with torch.set_grad_enabled(learn):
        if variant.is_recurrent:
            batch = advance_clocks(stream, variant, state, stop)
            versions, logits = advance_embeddings(variant, named, state, batch, chance, workspace, learn)
        else:
            versions, logits = gnn_embeddings(variant, state.z, adjacency_of(state.attention), named), None
            batch = advance_clocks(stream, variant, state, stop)
        symmetric = symmetric_compatibility(named["intensity.compatibility"])
        rate = named["intensity.rate"]
        intensities = event_intensities(versions, batch, symmetric, rate)  # (S, B)
        survival = survival_terms(versions, batch, chance.others, symmetric, rate)  # (S, B)
        state.add_survival(start, survival.detach())
        kl = versions.new_zeros(len(versions)) if logits is None else divergence(variant, logits)
        return Outcome(-intensities.log().sum(1), survival.sum(1), kl, batch, versions, symmetric, rate)


def advance_in_batches(
    stream: Stream,
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    stop: int,
    random: list[torch.Generator],
    size: int,
    workspace: Workspace | None = None,
) -> Iterator[Outcome]:
    """Advance `state` to `stop` without gradients, `size` events at a time; yield each batch's outcome."""
    workspace = workspace or Workspace()
    while state.position < stop:
        until = min(state.position + size, stop)
        chance = draw_chance(stream, variant, state.position, until, random, noisy=False)
        yield advance_state(stream, variant, named, state, until, chance, workspace, learn=False)


def current_embeddings(variant: Variant, state: State, named: dict[str, Tensor]) -> Tensor:
    """Return the current embeddings Z of every seed: (S, N, d)."""
    if variant.is_recurrent:
        return state.z
    return gnn_embeddings(variant, state.z, adjacency_of(state.attention), named)


def advance_embeddings(
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    batch: Batch,
    chance: Chance,
    workspace: Workspace,
    learn: bool,
) -> tuple[Tensor, Tensor | None]:
    """Advance Z and S of `state` through `batch`; return versions of Z and a learned graph's logits."""
    noise = None if chance.noise is None else chance.noise.to(state.z.dtype)
    undone = len(batch) if learn else 0
    passage = Passage(variant, state.attention, batch.kinds, named, noise, workspace, undone)
    attention = ATTENTIONS[variant.attention](passage)
    loop = EventLoop(batch, state.z, attention, named, differentiable=learn)
    versions, logits = loop.run()
    state.z = loop.z
    return versions, logits
