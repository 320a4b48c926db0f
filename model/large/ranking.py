"""Ranking in a large network: one event at a time, from the current state, in O(N) memory.

λ of a node with all nodes is one product. Clocks are computed from the last HORIZON events, the length of the
survival integral. Only an evenly spaced sample of a period's events is ranked, because ranking an event costs
more than training on it.
"""

import numpy as np
import torch
from torch import Tensor

from model.intensity import compatibility_with_all, intensity, symmetric_compatibility
from model.ranking import HORIZON, Frequencies, ranks
from model.state import State
from model.stream import COMMUNICATION, Stream

AT_ONCE = 128  # source nodes per block


def ranked_positions(start: int, stop: int, most: int) -> np.ndarray:
    """Return the positions of ranked events: all of the period, or `most` of them, evenly spaced."""
    return np.unique(np.linspace(start, stop - 1, min(most, stop - start)).astype(np.int64))


def heard_by(stream: Stream, now: int) -> np.ndarray:
    """Return the number of events up to each node's clock at event `now`, within the horizon: (N)."""
    earliest = np.searchsorted(stream.seconds, 0.0, side="right")
    begin = max(now - HORIZON, 0)
    heard = np.full(stream.nodes, min(max(earliest, begin), now))
    if now:
        first = np.searchsorted(stream.seconds, stream.seconds[begin])  # includes events at the same time
        after = np.searchsorted(stream.seconds, stream.seconds[first:now], side="right")
        ends = np.stack([stream.u[first:now], stream.v[first:now]], axis=1)
        heard[ends.reshape(-1)] = np.repeat(np.clip(after, begin, now), 2)  # the last event of a node wins
    return heard


def log_densities(
    stream: Stream, z: Tensor, state: State, named: dict[str, Tensor], sources: np.ndarray, kind: int
) -> Tensor:
    """Compute log(λ·exp(−survival)) of `sources` (B) with every node at the state's position: (S, B, N).

    Equals `model.ranking.log_density` on a small network.
    """
    symmetric, rate = symmetric_compatibility(named["intensity.compatibility"]), named["intensity.rate"]
    kinds, of = torch.full((len(sources),), kind), torch.from_numpy(sources)
    g = compatibility_with_all(z[:, of], z, kinds, symmetric)  # (S, B, N)
    density = intensity(g, rate[:, kinds].unsqueeze(2)).log()
    # The running sum never decreases, so its value at the later clock of a pair is the larger one.
    passed = state.survival[:, torch.from_numpy(heard_by(stream, state.position))]  # (S, N)
    later = torch.maximum(passed[:, of].unsqueeze(2), passed.unsqueeze(1))
    until = state.survival[:, state.position].view(-1, 1, 1)
    return density - ((until - later) * ((stream.nodes - 2) / HORIZON)).to(density.dtype)


def rank_next(
    stream: Stream, state: State, named: dict[str, Tensor], frequencies: Frequencies | None
) -> Tensor:
    """Rank v among u's candidates and u among v's, for the event at the state's position: (S, 2)."""
    now = state.position
    ends = np.array([stream.u[now], stream.v[now]])
    scores = log_densities(stream, state.z, state, named, ends, int(stream.k[now]))
    if frequencies is not None:
        scores[:, [0, 1], torch.from_numpy(ends)] = float("-inf")
        scores = (scores.double().softmax(2) + frequencies.rows(ends)) / 2
    return ranks(scores, ends[::-1].copy(), ends)


def likeliest_partners(
    stream: Stream, state: State, named: dict[str, Tensor], partners: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each node's likeliest next communication partners and their log densities, in descending order.

    Both are (N, partners), for the first seed.
    """
    likeliest, values = [], []
    for block in np.array_split(np.arange(stream.nodes), -(-stream.nodes // AT_ONCE)):
        density = log_densities(stream, state.z[:1], state, named, block, COMMUNICATION)[0]  # (B, N)
        density[torch.arange(len(block)), torch.from_numpy(block)] = float("-inf")
        top = density.topk(partners, dim=1)
        likeliest.append(top.indices.numpy())
        values.append(top.values.double().numpy())
    return np.concatenate(likeliest), np.concatenate(values)
