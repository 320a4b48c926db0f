"""Learning and ranking as `rem` does: an epoch chosen on validation, weights from both periods, test once."""

from collections.abc import Callable

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from benchmarks.peers.peer import Edges, Peer
from pipeline.results.metrics import mid_ranks


def learn(peer: Peer, edges: Edges, end: int, epochs: int, after: Callable[[int], None]) -> None:
    """Learn from the events before `end`; after each epoch `after` finds the state as it is at `end`."""
    optimizer = torch.optim.Adam(peer.parameters(), lr=peer.learning_rate)
    for epoch in range(1, epochs + 1):
        peer.train()
        peer.forget()
        for first in range(0, end, peer.batch):
            events = edges[slice(first, min(first + peer.batch, end))]
            if events.is_communication.any() and first:
                optimizer.zero_grad()
                peer.loss(events[events.is_communication]).backward()
                clip_grad_norm_(peer.parameters(), 1.0)
                optimizer.step()
            peer.observe(events)
        peer.eval()
        after(epoch)


@torch.no_grad()
def rank(peer: Peer, edges: Edges, first: int, end: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in the stream (E) and ranks (E, 2) of every `every`-th communication from `first` to `end`.

    The state is that before `first`; each event enters it after it was ranked.
    """
    positions = torch.arange(first, end)[edges.is_communication[first:end]][::every]
    ranks, due = np.empty((len(positions), 2)), set(positions.tolist())
    number = 0
    for place in range(first, end):
        if place in due:
            u, v, second = (int(part[place]) for part in (edges.src, edges.dst, edges.t))
            scores = peer.scores(u, v, second).numpy()
            ranks[number] = mid_ranks(scores, np.array([v, u]), np.array([u, v]))
            number += 1
        peer.observe(edges[slice(place, place + 1)])
    return positions.numpy(), ranks


def ranks_of(
    kind: type[Peer], edges: Edges, seed: int, every: int, log: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the epoch on validation, learn anew from training and validation, and rank the test period."""
    validation, test = edges.splits
    measured: list[float] = []
    torch.manual_seed(seed)
    peer = kind(edges)

    def measure(epoch: int) -> None:
        _, ranks = rank(peer, edges, validation, test, every)
        measured.append(float(ranks.mean()))
        log(f"{peer.title}, seed {seed}, epoch {epoch}: validation MAR {measured[-1]:.2f}")

    learn(peer, edges, validation, peer.epochs, measure)
    torch.manual_seed(seed)
    peer = kind(edges)
    learn(peer, edges, test, int(np.argmin(measured)) + 1, lambda _: None)
    return rank(peer, edges, test, len(edges), every)
