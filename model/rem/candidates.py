"""Negative candidates for training: drawn again for every epoch, the same for all seeds."""

import numpy as np

from model.stream import Stream


def draw_candidates(
    stream: Stream, events: np.ndarray, count: int, random: np.random.Generator
) -> np.ndarray:
    """Draw `count` negatives for each of `events`, as targets and as actors; truth first: (M, 2, 1 + C).

    Neither of an event's two nodes is drawn. Where fewer others exist, all of them are candidates; in a large
    network a node may be drawn twice.
    """
    others = stream.nodes - 2
    ends = np.stack([stream.u[events], stream.v[events]], 1)  # (M, 2)
    shape = (len(events), 2)
    if others <= count:
        drawn = np.broadcast_to(np.arange(others), (*shape, others))
    elif others <= 16 * count:
        drawn = random.permuted(np.broadcast_to(np.arange(others), (*shape, others)), axis=2)[:, :, :count]
    else:
        drawn = random.integers(0, others, (*shape, count))
    # Map numbers that exclude the event's two nodes to nodes: skip the lower one, then the higher one.
    low, high = ends.min(1)[:, None, None], ends.max(1)[:, None, None]
    drawn = drawn + (drawn >= low)
    drawn = drawn + (drawn >= high)
    return np.concatenate([ends[:, ::-1, None], drawn], 2)
