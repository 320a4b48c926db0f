"""Ranking of candidates by conditional density λ·exp(−survival), for a batch and along the stream."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from model.batches import Batch
from model.choice import Learned
from model.forward import advance_in_batches
from model.intensity import compatibility_with_all, intensity, symmetric_compatibility
from model.parameters import Parameters
from model.run import Run, generators
from model.state import State
from model.stream import COMMUNICATION, Stream
from pipeline.progress import Progress
from pipeline.results.metrics import unchecked_ranks
from pipeline.results.pairs import pair_keys

HORIZON = 5000  # length of the survival integral, in events


def log_density(
    versions: Tensor, batch: Batch, ends: np.ndarray, symmetric: Tensor, rate: Tensor, survival: Tensor
) -> Tensor:
    """Compute log(λ·exp(−survival)) of each event's node in `ends` (B) with every node: (S, B, N).

    `survival` (S, T + 1) is the running sum of survival terms, each a mean over sampled non-events. The
    integral since the pair's later clock is a difference of this sum, times (N − 2)/HORIZON. The logarithm
    preserves the order where exp(−survival) would underflow to ties.
    """
    events, nodes = batch.versions.shape
    rows = torch.from_numpy(batch.versions)  # (B, N)
    at = torch.arange(events)
    z = versions[:, rows[at, torch.from_numpy(ends)]]  # (S, B, d)
    scores = compatibility_with_all(z, versions, batch.kinds, symmetric)  # (S, B, N + 2B)
    seeds = len(versions)
    g = scores.gather(2, rows.unsqueeze(0).expand(seeds, events, nodes))
    density = intensity(g, rate[:, batch.kinds].unsqueeze(2)).log()
    heard = np.maximum(
        batch.heard, batch.heard[np.arange(events), ends][:, None]
    )  # (B, N): the pair's later clock
    since = np.minimum(np.maximum(heard, batch.now[:, None] - HORIZON), batch.now[:, None])
    until = survival[:, torch.from_numpy(batch.now)].unsqueeze(2)
    passed = (until - survival[:, torch.from_numpy(since)]) * ((nodes - 2) / HORIZON)  # (S, B, N)
    return density - passed.to(density.dtype)


def partner_densities(stream: Stream, z: Tensor, state: State, named: dict[str, Tensor]) -> Tensor:
    """Compute log densities of all pairs (S, N, N) for a communication right after the state's last event.

    The diagonal is −∞. `z` (S, N, d) are the current embeddings.
    """
    everyone = np.arange(stream.nodes)
    now = Batch(
        now=np.full(stream.nodes, state.position),  # the same position for every node
        u=everyone,
        v=everyone,
        kinds=torch.full((stream.nodes,), COMMUNICATION),
        waiting=torch.zeros(0),
        versions=np.tile(everyone, (stream.nodes, 1)),
        heard=np.tile(np.searchsorted(stream.seconds, state.clock, side="right"), (stream.nodes, 1)),
        steps=[],
    )
    symmetric, rate = symmetric_compatibility(named["intensity.compatibility"]), named["intensity.rate"]
    density = log_density(z, now, everyone, symmetric, rate, state.survival).double()
    return without_self(density, everyone)


def ranks(scores: Tensor, target: np.ndarray, source: np.ndarray) -> Tensor:
    """Return 0-based ranks (S, B) of `target` (B) among all nodes but `source`; ties get the mean rank."""
    seeds = len(scores)
    rows = scores.detach().flatten(0, 1).numpy()  # scores of a stopped seed may be NaN
    of_rows = unchecked_ranks(rows, np.tile(target, seeds), np.tile(source, seeds))
    return torch.from_numpy(of_rows).float().view(seeds, -1)


@dataclass(frozen=True)
class Frequencies:
    """Each node's past partner frequencies, used by + Freq."""

    nodes: int
    first: np.ndarray  # (N + 1): start of each node's partners (CSR offsets)
    partner: np.ndarray  # (P)
    share: np.ndarray  # (P) float32, sums to 1 over a node's partners

    @classmethod
    def of_events(cls, stream: Stream, until: int) -> Self:
        """Count events of both kinds and directions before event `until`, as shares per node."""
        u, v, nodes = stream.u[:until], stream.v[:until], stream.nodes
        keys = np.concatenate([pair_keys(u, v, nodes), pair_keys(v, u, nodes)])
        pairs, counts = np.unique(keys, return_counts=True)
        node, partner = pairs // nodes, pairs % nodes
        events = np.bincount(np.concatenate([u, v]), minlength=nodes)
        share = counts.astype(np.float32) / events[node].astype(np.float32)
        return cls(nodes, np.searchsorted(node, np.arange(nodes + 1)), partner, share)

    def rows(self, sources: np.ndarray) -> Tensor:
        """Return dense partner shares of `sources` (B): (B, N); all 0 for a source without events."""
        out = torch.zeros(len(sources), self.nodes)
        for row, node in enumerate(sources):
            own = slice(self.first[node], self.first[node + 1])
            out[row, torch.from_numpy(self.partner[own])] = torch.from_numpy(self.share[own])
        return out


def without_self(scores: Tensor, source: np.ndarray) -> Tensor:
    """Return `scores` (S, B, N) with −∞ for each event's source node."""
    own = torch.from_numpy(source).view(1, -1, 1).expand(len(scores), -1, 1)
    return scores.scatter(2, own, float("-inf"))


def rank_events(
    versions: Tensor,
    batch: Batch,
    symmetric: Tensor,
    rate: Tensor,
    survival: Tensor,
    frequencies: Frequencies | None = None,
) -> Tensor:
    """Rank v among u's candidates and u among v's, for every event: (S, B, 2).

    With `frequencies`, candidates are ranked by the mean of two distributions: the normalized density and the
    source's past partner frequencies.
    """
    both = []
    for source, target in ((batch.u, batch.v), (batch.v, batch.u)):
        scores = log_density(versions, batch, source, symmetric, rate, survival)
        if frequencies is not None:
            of_density = without_self(scores, source).double().softmax(2)
            scores = (of_density + frequencies.rows(source)) / 2
        both.append(ranks(scores, target, source))
    return torch.stack(both, dim=2)


def rank_until(
    run: Run,
    learned: Learned,
    stop: int,
    seeds: tuple[int, ...],
    progress: Progress,
    frequencies: Frequencies | None = None,
) -> Tensor:
    """Rank the events (S, E, 2) from the position of `learned`, which is not changed, to `stop`."""
    parameters = Parameters(run.parameters.shapes, learned.weights)
    state = learned.state.of_seeds(list(range(len(seeds))))
    return carry_and_rank(run, parameters, state, stop, generators(seeds, "ranking"), progress, frequencies)


def carry_and_rank(
    run: Run,
    parameters: Parameters,
    state: State,
    stop: int,
    random: list[torch.Generator],
    progress: Progress,
    frequencies: Frequencies | None = None,
) -> Tensor:
    """Advance `state` to `stop` without gradients and rank the events on the way (S, E, 2).

    In a large network only a sample is ranked; the ranks of other events are NaN.
    """
    if state.is_large:
        return carry_and_rank_some(run, parameters, state, stop, random, progress, frequencies)
    ranks = [torch.zeros(len(parameters.flat), 0, 2)]
    stream, size = run.stream, run.settings.batch
    with torch.no_grad():
        for seen in advance_in_batches(
            stream, run.variant, parameters.named, state, stop, random, size, run.workspace
        ):
            of_batch = rank_events(
                seen.versions, seen.batch, seen.symmetric, seen.rate, state.survival, frequencies
            )
            ranks.append(of_batch.float())
            progress.advance(len(seen.batch), "ranking")
    return torch.cat(ranks, dim=1)


def carry_and_rank_some(
    run: Run,
    parameters: Parameters,
    state: State,
    stop: int,
    random: list[torch.Generator],
    progress: Progress,
    frequencies: Frequencies | None,
) -> Tensor:
    """Do `carry_and_rank` in a large network: a batch ends before each ranked event."""
    from model.large.advance import carry  # imported lazily: compiles with numba
    from model.large.ranking import rank_next, ranked_positions

    stream, settings, start = run.stream, run.settings, state.position
    ranks = torch.full((len(parameters.flat), stop - start, 2), float("nan"))
    with torch.no_grad():
        for until in [*ranked_positions(start, stop, settings.ranked).tolist(), stop]:
            before, named = state.position, parameters.named
            carry(
                stream,
                run.variant,
                named,
                state,
                until,
                random,
                settings.batch,
                settings.senders,
                run.workspace,
            )
            progress.advance(until - before, "ranking")
            if until < stop:
                ranks[:, until - start] = rank_next(stream, state, parameters.named, frequencies).float()
    return ranks
