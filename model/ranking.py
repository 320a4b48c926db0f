"""Ranking candidates by conditional density λ·exp(−survival): of a batch at once, and along the stream."""

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

HORIZON = 5000  # events that the survival integral reaches back


def log_density(
    versions: Tensor, batch: Batch, ends: np.ndarray, symmetric: Tensor, rate: Tensor, survival: Tensor
) -> Tensor:
    """log(λ·exp(−survival)) of each event's node in `ends` (B) with every node: (S, B, N).

    `survival` (S, T + 1) is the running sum of survival terms, each a mean over the nodes that did not take
    part; the integral since the pair's later clock is a difference, and counts every such node.

    The logarithm keeps the order where exp(−survival) would underflow to ties.
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
    """log density of every node with every node for a communication right after the state's last event:
    (S, N, N), −∞ for a node with itself. `z` (S, N, d) are the current embeddings.
    """
    everyone = np.arange(stream.nodes)
    now = Batch(
        now=np.full(stream.nodes, state.position),  # every node is asked at the same moment
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
    """0-based rank (S, B) of `target` (B) among all nodes but `source`; ties share the mean rank."""
    seeds = len(scores)
    rows = scores.detach().flatten(0, 1).numpy()  # a seed that stopped learning may have anything in them
    of_rows = unchecked_ranks(rows, np.tile(target, seeds), np.tile(source, seeds))
    return torch.from_numpy(of_rows).float().view(seeds, -1)


@dataclass(frozen=True)
class Frequencies:
    """How each node's events before `until` were spread over its partners: + Freq's second opinion."""

    nodes: int
    first: np.ndarray  # (N + 1): where each node's partners begin
    partner: np.ndarray  # (P)
    share: np.ndarray  # (P) float32, sums to 1 over a node's partners

    @classmethod
    def of_events(cls, stream: Stream, until: int) -> Self:
        """Shares of every event of a pair before event `until`, of both kinds, either direction."""
        u, v, nodes = stream.u[:until], stream.v[:until], stream.nodes
        keys = np.concatenate([pair_keys(u, v, nodes), pair_keys(v, u, nodes)])
        pairs, counts = np.unique(keys, return_counts=True)
        node, partner = pairs // nodes, pairs % nodes
        events = np.bincount(np.concatenate([u, v]), minlength=nodes)
        share = counts.astype(np.float32) / events[node].astype(np.float32)
        return cls(nodes, np.searchsorted(node, np.arange(nodes + 1)), partner, share)

    def rows(self, sources: np.ndarray) -> Tensor:
        """Shares of every node among the partners of `sources` (B): (B, N); 0 for a node without events."""
        out = torch.zeros(len(sources), self.nodes)
        for row, node in enumerate(sources):
            own = slice(self.first[node], self.first[node + 1])
            out[row, torch.from_numpy(self.partner[own])] = torch.from_numpy(self.share[own])
        return out


def without_self(scores: Tensor, source: np.ndarray) -> Tensor:
    """`scores` (S, B, N) with −∞ for each event's own node: nobody is her own partner."""
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
    """Ranks of v among u's candidates and of u among v's, for every event: (S, B, 2).

    With `frequencies` a candidate is ranked by the mean of two distributions over all candidates: the
    density's, and that of the node's events before.
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
    """Ranks (S, E, 2) of the events from what was learned to `stop`; `learned` stays as it is."""
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
    """Carry `state` to `stop` without learning; ranks (S, E, 2) of the events on the way.

    In a large network only some of them are ranked: the others have no number.
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
    """`carry_and_rank` in a large network: batches end before an event that is ranked."""
    from model.large.advance import carry  # compiled: only where it is needed
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
