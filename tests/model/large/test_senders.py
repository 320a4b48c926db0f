"""A sample of senders stands for all of them without bias."""

import numpy as np
import pytest
import torch

from model.attention.start import Edges
from model.large.pages import Pages
from model.large.senders import choose_senders

NODES, NODE, PARTNER = 30, 3, 7


def pages_with(neighbours: list[int]) -> Pages:
    """One seed in which NODE has these neighbours."""
    i, j = (torch.tensor(ends) for ends in zip(*(sorted((NODE, other)) for other in neighbours), strict=True))
    return Pages.from_edges([Edges(i, j, torch.zeros_like(i))], NODES, 1, torch.float32)


def sample(pages: Pages, size: int, word: int) -> tuple[np.ndarray, np.ndarray]:
    """Senders and weights of one draw."""
    senders, weights = np.zeros(size, np.int64), np.zeros(size, np.float32)
    choose_senders(pages.pools[0], NODE, PARTNER, pages.pools[0].count[NODE], word, senders, weights)
    return senders, weights


@pytest.mark.parametrize("neighbours", [[1, 2], [1, 7, 9], [*range(10, 22)], [7, *range(10, 22)]])
def test_every_sender_weighs_the_same_on_average_and_the_partner_is_always_there(
    neighbours: list[int],
) -> None:
    pages, draws = pages_with(neighbours), 10_000
    drawn = [sample(pages, 8, word * 7919) for word in range(draws)]
    senders, weights = (np.stack(part) for part in zip(*drawn, strict=True))
    assert (senders[:, 0] == PARTNER).all()
    assert NODE not in senders
    total = np.bincount(senders.reshape(-1), weights.reshape(-1).astype(np.float64), minlength=NODES)
    expected = np.full(NODES, 1 / (NODES - 1))
    expected[NODE] = 0.0
    # A stranger is drawn some four times in thirty, and weighs the more: five standard errors.
    np.testing.assert_allclose(total / draws, expected, atol=5 * (0.15**2 / draws) ** 0.5)
    few = [other for other in neighbours if other != PARTNER]
    if len(few) <= 4:
        assert set(few) <= set(sample(pages, 8, 1)[0])


def test_a_sample_as_large_as_the_network_is_everyone() -> None:
    senders, weights = sample(pages_with([1, 2]), NODES - 1, 5)
    assert sorted([*senders, NODE]) == list(range(NODES))
    np.testing.assert_allclose(weights, 1 / (NODES - 1))
