"""Batch plans: everything about a batch of events that does not depend on the parameters.

Clocks, neighbours, row versions of Z and random draws depend only on the stream and the generators. S: seeds,
N: nodes, B: events, K: slots.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.attention.rows import AttentionRows
from model.identity import SENDERS
from model.large.rule import is_large
from model.state import State
from model.stream import ASSOCIATION, Stream
from pipeline.paper_training import NON_EVENTS
from pipeline.variants import MOVES, Variant

WAITING_SCALES = (50.0, 7.0, 15.0, 15.0)  # days, hours, minutes, seconds


@dataclass
class Step:
    """The precomputed indices of one event for the event loop."""

    uv: Tensor  # (2)
    rows: Tensor  # (S·2): rows u and v of each seed, counted over seeds and nodes
    width: int  # slots of the wider of the two rows before the event
    neighbours: np.ndarray  # (S·2, K): row indices into W_h Z as (S·N, d)
    slots: Tensor | None = None  # (S, 2, 1): slots of the pair, if this event may change the attention
    width_after: int = 0
    share: Tensor | None = None  # (S, 2): DyRep's b
    loss: Tensor | None = None  # (S, 2): DyRep's x, for an association
    applies: Tensor | None = None  # (S): seeds to which the rule applies; None for all


@dataclass
class Batch:
    """Consecutive events with their parameter-independent inputs.

    Embeddings are stored as versions of rows of Z, not as copies of Z: row i < N is node i before the batch,
    rows N + 2b and N + 2b + 1 are u and v after event b.
    """

    now: np.ndarray  # (B): number of stream events before each event
    u: np.ndarray  # (B)
    v: np.ndarray
    kinds: Tensor  # (B)
    waiting: Tensor  # (B, 2, 4)
    versions: np.ndarray  # (B, N): the row of each node's embedding before each event
    heard: np.ndarray  # (B, N): number of stream events up to each node's clock
    steps: list[Step]

    def __len__(self) -> int:
        return len(self.u)


def advance_clocks(stream: Stream, variant: Variant, state: State, stop: int) -> Batch:
    """Plan the events from the state's position to `stop`.

    Side effect: advances the position, clocks and neighbours of `state` to `stop`.
    """
    start, nodes = state.position, stream.nodes
    u, v, k = stream.u[start:stop], stream.v[start:stop], stream.k[start:stop]
    events = len(u)
    versions = np.empty((events, nodes), dtype=np.int64)
    heard = np.empty((events, nodes), dtype=np.int64)
    heard_by = np.searchsorted(stream.seconds, state.clock, side="right")  # (N)
    after = np.searchsorted(stream.seconds, stream.seconds[start:stop], side="right")  # (B)
    waiting = np.empty((events, 2))
    current = np.arange(nodes)
    steps = []
    seeds = len(state.z)
    ends_of = torch.from_numpy(np.stack([u, v], axis=1))  # (B, 2)
    rows_of = (torch.arange(seeds)[:, None] * nodes + ends_of[:, None]).view(events, -1)  # (B, S·2)
    places = list(zip(ends_of.unbind(), rows_of.unbind(), strict=True))
    for b in range(events):
        i, j, now = int(u[b]), int(v[b]), stream.seconds[start + b]
        versions[b], heard[b] = current, heard_by
        waiting[b] = now - state.clock[i], now - state.clock[j]
        if variant.is_recurrent:
            steps.append(join_and_plan(variant, state.attention, i, j, int(k[b]), state.z.dtype, *places[b]))
            current[i], current[j] = nodes + 2 * b, nodes + 2 * b + 1
        elif k[b] == ASSOCIATION:
            state.attention.join(i, j)
        state.clock[i] = state.clock[j] = now
        heard_by[i] = heard_by[j] = after[b]
    state.position = stop
    return Batch(
        now=np.arange(start, stop),
        u=u,
        v=v,
        kinds=torch.from_numpy(k),
        waiting=waiting_features(waiting).to(state.z.dtype),
        versions=versions,
        heard=heard,
        steps=steps,
    )


def waiting_features(seconds: np.ndarray) -> Tensor:
    """Split waiting times into scaled days, hours, minutes and seconds: (…, 4)."""
    days, rest = np.divmod(seconds, 86400)
    hours, rest = np.divmod(rest, 3600)
    minutes, rest = np.divmod(rest, 60)
    return torch.from_numpy(np.stack([days, hours, minutes, rest], axis=-1) / WAITING_SCALES)


def join_and_plan(
    variant: Variant,
    attention: AttentionRows,
    u: int,
    v: int,
    k: int,
    dtype: torch.dtype,
    uv: Tensor,
    rows: Tensor,
) -> Step:
    """Return the plan of one event: neighbours before it and attention slots of the pair after it.

    Allocates slots for u and v in each other's rows if the event makes them neighbours.
    """
    neighbours, width = attention.neighbours(u, v)
    seeds, nodes = attention.count.shape
    places = np.maximum(neighbours, 0) + (np.arange(seeds) * nodes)[:, None, None]
    step = Step(uv, rows, width, places.reshape(2 * seeds, width))
    moves = MOVES[variant.attention]
    if moves == "never":
        return step
    applies = np.ones(seeds, dtype=bool)
    before = attention.count[:, (u, v)]  # (S, 2)
    if moves == "with every event" or k == ASSOCIATION:
        attention.join(u, v)
    else:
        _, applies = attention.slot(u, v)
        if not applies.any():
            return step
    slots = np.stack([attention.slot(u, v)[0], attention.slot(v, u)[0]], axis=1)
    step.slots = torch.from_numpy(slots)[:, :, None]
    step.width_after = max(width, int(slots.max()) + 1)
    if moves == "with associations":
        share = share_of_associates(attention.count[:, (u, v)])
        step.share = torch.from_numpy(share).to(dtype)
        if k == ASSOCIATION:
            step.loss = torch.from_numpy(share_of_associates(before) - share).to(dtype)
        if not applies.all():
            step.applies = torch.from_numpy(applies)
    return step


def share_of_associates(degrees: np.ndarray) -> np.ndarray:
    """Return 1/degree of each node, 0 for nodes without associates."""
    return np.where(degrees > 0, 1 / np.maximum(degrees, 1), 0.0)


@dataclass(frozen=True)
class Chance:
    """The random draws of a batch, from each seed's own generator."""

    others: Tensor  # (S, B, 2, NON_EVENTS): sampled non-event partners of u and of v
    noise: Tensor | None  # (B, S, 2, r'): Gumbel noise, None outside training
    words: Tensor | None = None  # (S, B, 2): random words for sender sampling, in large networks
    senders: int = SENDERS  # sample size of the first pass in a large network


def draw_chance(
    stream: Stream,
    variant: Variant,
    start: int,
    stop: int,
    generators: list[torch.Generator],
    noisy: bool,
    senders: int = SENDERS,
) -> Chance:
    """Draw the random numbers of a batch; non-events exclude u and v, seeds draw independently."""
    u, v = torch.from_numpy(stream.u[start:stop]), torch.from_numpy(stream.v[start:stop])
    low, high = torch.minimum(u, v)[:, None, None], torch.maximum(u, v)[:, None, None]
    others, noise, words = [], [], []
    for generator in generators:
        drawn = torch.randint(stream.nodes - 2, (stop - start, 2, NON_EVENTS), generator=generator)
        drawn += drawn >= low
        drawn += drawn >= high
        others.append(drawn)
        if noisy and variant.is_sampled:
            shape = (stop - start, 2, len(variant.prior_probabilities))
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
            noise.append(-(-uniform.clamp_min(1e-20).log()).log())
        if is_large(stream.nodes) and variant.is_sampled and variant.passes == 2:
            words.append(torch.randint(2**63 - 1, (stop - start, 2), generator=generator))
    return Chance(
        torch.stack(others),
        torch.stack(noise, dim=1) if noise else None,
        torch.stack(words) if words else None,
        senders,
    )
