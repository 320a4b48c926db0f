"""Rows of attention have widths of their own, move when they grow, and come back from a file as they were."""

import numpy as np
import torch

from model.attention.start import Edges
from model.large.pages import NOBODY, Pages, join, pool_with_room, slot_in_row


def test_rows_grow_and_every_neighbour_keeps_its_slot() -> None:
    nodes, rng = 200, np.random.default_rng(0)
    none = torch.empty(0, dtype=torch.int64)
    pages = Pages.from_edges([Edges(none, none, none)], nodes, 2, torch.float32)
    slots: dict[tuple[int, int], int] = {}
    count = np.zeros(nodes, np.int64)
    for _ in range(40):
        ends = np.stack([rng.integers(0, 3, 50), rng.integers(3, nodes, 50)], axis=1)  # three hubs
        pages.pools[0] = pool_with_room(pages.pools[0], ends.reshape(-1))
        pool = pages.pools[0]
        for u, v in ends.tolist():
            for node, other in ((u, v), (v, u)):
                slot = join(pool, node, other)
                if (node, other) not in slots:
                    slots[node, other] = count[node]
                    count[node] += 1
                    pool.value[:, pool.first[node] + slot] = node + other / 1000
                assert slot == slots[node, other]
    pool = pages.pools[0]
    assert pool.count.tolist() == count.tolist()
    assert slot_in_row(pool, 0, 1) == NOBODY
    again = Pages.from_tensors(pages.tensors()).pools[0]
    for (node, other), slot in slots.items():
        for stored in (pool, again):
            at = stored.first[node] + slot
            assert stored.node[at] == other
            assert stored.value[0, at] == np.float32(node + other / 1000)
    assert pool.room.sum() <= 2 * pool.count.sum() + 4 * nodes
