"""Sampling of first-pass senders: an unbiased estimate of the mean over all N − 1 senders (eq. 9).

The sample has three strata: the event's partner, which is always included; the neighbours, all of them or, if
more than half the sample size, a random sample of that size; and all other nodes, sampled for the rest. The
weight of a sender is the number of nodes that it represents, divided by N − 1.
"""

import numpy as np

from model.large.compiled import compiled, inlined
from model.large.pages import NOBODY, Pool, slot_in_row

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inlined
def mixed(word: np.uint64) -> np.uint64:
    """Return a random word from a counter (splitmix64)."""
    x = word
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def below(word: np.uint64, count: int) -> np.int64:
    """Return a number in [0, count) from the upper half of a random word, uniform to 2^−32·count."""
    return np.int64((word >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@compiled
def choose_senders(
    pool: Pool, node: int, partner: int, width: int, word: int, senders: np.ndarray, weights: np.ndarray
) -> None:
    """Fill `senders` and `weights` (m) for edges into `node`, whose row has `width` slots in use.

    The partner is first. `word` seeds the random generator for the others.
    """
    nodes, size = len(pool.first), len(senders)
    all_others = np.float32(nodes - 1)
    senders[0], weights[0] = partner, np.float32(1.0) / all_others
    if size == nodes - 1:  # the sample is all nodes
        at = 1
        for other in range(nodes):
            if other not in (node, partner):
                senders[at], weights[at] = other, np.float32(1.0) / all_others
                at += 1
        return
    state = np.uint64(word)
    row = pool.node[pool.first[node] : pool.first[node] + width]
    slot = slot_in_row(pool, node, partner)
    met = slot != NOBODY and slot < width
    near = width - 1 if met else width  # neighbours except the partner
    taken = min(near, size // 2)
    at = 1
    if near == taken:
        for k in range(width):
            if row[k] != partner:
                senders[at], weights[at] = row[k], np.float32(1.0) / all_others
                at += 1
    else:
        for _ in range(taken):
            state += GOLDEN
            k = below(mixed(state), near)
            if met and k >= slot:
                k += 1
            senders[at], weights[at] = row[k], np.float32(near) / np.float32(taken) / all_others
            at += 1
    rest = size - at
    strangers = nodes - 2 - near
    for _ in range(rest):
        other = node
        while strangers > 0:
            state += GOLDEN
            other = below(mixed(state), nodes)
            if other not in (node, partner):
                slot_of_other = slot_in_row(pool, node, other)
                if slot_of_other == NOBODY or slot_of_other >= width:
                    break
        senders[at] = partner if other == node else other
        weights[at] = np.float32(strangers) / np.float32(rest) / all_others
        at += 1
