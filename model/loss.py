"""The loss of a batch of events (eq. 15): −log λ of events, λ of sampled non-events, KL of the learned
graph.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.dynamics import Batch, EventLoop, plan_batch
from model.gnn import adjacency_of, embeddings
from model.intensity import compatibility_of_pairs, intensity, symmetric_compatibility
from model.state import State
from model.stream import Stream
from pipeline.variants import Variant

NON_EVENTS = 5  # sampled nodes for u, and as many for v


@dataclass
class Outcome:
    """A batch of events as the model saw it. Losses are sums over the batch's events, one number a seed."""

    batch: Batch
    versions: Tensor  # (S, R, d)
    symmetric: Tensor
    rate: Tensor  # (S, 2)
    events: Tensor  # (S)
    non_events: Tensor  # (S)
    kl: Tensor  # (S)


@dataclass(frozen=True)
class Chance:
    """Everything random in a batch, drawn by each seed's own generator."""

    others: Tensor  # (S, B, 2, NON_EVENTS): partners for u and for v that did not interact with them
    noise: Tensor | None  # (B, S, 2, r'): Gumbel noise, none outside training


def draw_chance(
    stream: Stream, variant: Variant, start: int, stop: int, generators: list[torch.Generator], noisy: bool
) -> Chance:
    """Non-events never name u or v; each seed draws as much whatever the seeds beside it do."""
    u, v = torch.from_numpy(stream.u[start:stop]), torch.from_numpy(stream.v[start:stop])
    low, high = torch.minimum(u, v)[:, None, None], torch.maximum(u, v)[:, None, None]
    others, noise = [], []
    for generator in generators:
        drawn = torch.randint(stream.nodes - 2, (stop - start, 2, NON_EVENTS), generator=generator)
        drawn += drawn >= low
        drawn += drawn >= high
        others.append(drawn)
        if noisy and variant.attention == "learned":
            shape = (stop - start, 2, len(variant.prior_probabilities))
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
            noise.append(-(-uniform.clamp_min(1e-20).log()).log())
    return Chance(torch.stack(others), torch.stack(noise, dim=1) if noise else None)


def run_batch(
    stream: Stream,
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    stop: int,
    chance: Chance,
    workspace: dict[str, Tensor],
    learn: bool,
) -> Outcome:
    """Carry `state` through the events up to `stop`; with `learn` the losses have gradients in `named`."""
    start = state.position
    graph = None if variant.is_recurrent else adjacency_of(state.attention)
    batch = plan_batch(stream, variant, state, stop)
    with torch.set_grad_enabled(learn):
        logits = None
        if graph is None:
            noise = None if chance.noise is None else chance.noise.to(state.z.dtype)
            versions, logits = EventLoop(variant, state, batch, named, noise, workspace, learn).run()
        else:
            versions = embeddings(variant, state.z, graph, named)
        symmetric = symmetric_compatibility(named["intensity.compatibility"])
        rate = named["intensity.rate"]
        of_events = event_intensities(versions, batch, symmetric, rate)  # (S, B)
        survival = survival_terms(versions, batch, chance.others, symmetric, rate)  # (S, B)
        running = survival.detach().double().cumsum(1)
        state.survival[:, start + 1 : stop + 1] = state.survival[:, start : start + 1] + running
        kl = (
            torch.zeros(len(versions), dtype=versions.dtype)
            if logits is None
            else divergence(variant, logits)
        )
        return Outcome(batch, versions, symmetric, rate, -of_events.log().sum(1), survival.sum(1), kl)


def event_intensities(versions: Tensor, batch: Batch, symmetric: Tensor, rate: Tensor) -> Tensor:
    """λ of every event from the state before it: (S, B)."""
    at = np.arange(len(batch))
    z_u = versions[:, torch.from_numpy(batch.versions[at, batch.u])]  # (S, B, d)
    z_v = versions[:, torch.from_numpy(batch.versions[at, batch.v])]
    g = compatibility_of_pairs(z_u, z_v, symmetric)[:, torch.from_numpy(at), batch.kinds]  # (S, B)
    return intensity(g, rate[:, batch.kinds])


def survival_terms(versions: Tensor, batch: Batch, others: Tensor, symmetric: Tensor, rate: Tensor) -> Tensor:
    """Sum of λ over each event's sampled non-events and both kinds, by their number a node: (S, B)."""
    seeds, events = others.shape[:2]
    at = np.arange(events)
    ends = torch.from_numpy(
        np.stack([batch.versions[at, batch.u], batch.versions[at, batch.v]], axis=1)
    )  # (B, 2)
    own = versions[:, ends.repeat_interleave(NON_EVENTS, 1).view(-1)]  # (S, B·2·5, d)
    rows = torch.from_numpy(batch.versions)[torch.arange(events)[:, None], others.view(seeds, events, -1)]
    offset = torch.arange(seeds)[:, None, None] * versions.shape[1]
    other = versions.reshape(-1, versions.shape[2])[(rows + offset).view(-1)].view_as(own)
    rates = intensity(compatibility_of_pairs(own, other, symmetric), rate.unsqueeze(1))  # (S, B·2·5, 2)
    return rates.view(seeds, events, -1).sum(2) / NON_EVENTS


def divergence(variant: Variant, logits: Tensor) -> Tensor:
    """KL of the edge types of both directions from the prior, up to the uniform prior's constant: (S)."""
    log_q = logits.log_softmax(3)  # (B, S, 2, r')
    against = (
        torch.tensor(variant.prior_probabilities, dtype=logits.dtype).log()
        if variant.prior == "sparse"
        else 0
    )
    return (log_q.exp() * (log_q - against)).transpose(0, 1).flatten(1).sum(1)
