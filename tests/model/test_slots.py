"""Compiled loops over slots have the bits of the library's operations."""

import numpy as np
import torch

from model.attention.rows import ABSENT
from model.attention.slots import add_bias, divide_by_totals, find_strongest, set_entries

ROWS, SLOTS, TYPES, WIDTH, NODES = 6, 9, 2, 32, 20
GENERATOR = torch.Generator().manual_seed(0)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=GENERATOR)


def test_softmax_and_strongest_neighbour_are_those_of_the_library() -> None:
    values, bias = random(NODES, SLOTS, TYPES).abs(), torch.zeros(NODES, SLOTS, TYPES)
    bias[:, 5:, 1] = ABSENT
    bias[3] = ABSENT  # nobody at all
    rows = torch.tensor([0, 3, 7, 11, 12, 19])
    projected = random(NODES, WIDTH)
    neighbours = torch.randint(NODES, (ROWS, SLOTS), generator=GENERATOR)
    neighbours[0, 1] = neighbours[0, 0]
    weights = torch.empty(ROWS, SLOTS, TYPES)
    add_bias(values.numpy(), bias.numpy(), rows.numpy(), weights.numpy())
    exponents = weights.exp_().clone()
    divide_by_totals(weights.numpy(), np.empty((ROWS, TYPES), np.float32))
    totals = exponents.cumsum(1)[:, -1:].clamp_min(1e-12)
    assert torch.equal(weights, exponents / totals)
    products = weights.unsqueeze(3) * projected[neighbours].unsqueeze(2) + bias[rows].unsqueeze(3)
    largest, felt = np.empty((2, ROWS, TYPES, WIDTH), np.float32)
    slots = np.empty((ROWS, TYPES, WIDTH), np.int32)
    find_strongest(
        weights.numpy(),
        bias.numpy(),
        rows.numpy(),
        neighbours.numpy(),
        projected.numpy(),
        largest,
        slots,
        felt,
    )
    assert np.array_equal(largest, products.amax(1).numpy())
    first = (products == products.amax(1, keepdim=True)).int().argmax(1)  # (M, r, d)
    assert np.array_equal(slots, first.numpy())
    near = projected[neighbours].unsqueeze(2).expand(-1, -1, TYPES, -1)  # (M, K, r, d)
    assert np.array_equal(felt, near.gather(1, first.unsqueeze(1))[:, 0].numpy())


def test_rows_are_divided_by_their_sums_as_the_library_does() -> None:
    values, bias = random(NODES, SLOTS, TYPES).abs(), torch.full((NODES, SLOTS, TYPES), ABSENT)
    rows, slots, sampled = torch.tensor([1, 4]), torch.tensor([2, 0]), random(2, 1 + TYPES).abs()
    expected = values[rows].clone()
    expected[torch.arange(2), slots] = sampled[:, 1:]
    expected = expected / expected.cumsum(1)[:, -1:]
    after, totals = np.empty((2, SLOTS, TYPES), np.float32), np.empty((2, TYPES), np.float32)
    set_entries(values.numpy(), bias.numpy(), rows.numpy(), slots.numpy(), sampled.numpy(), after, totals)
    assert torch.equal(values[rows], expected)
    assert np.array_equal(after, expected.numpy())
    assert torch.count_nonzero(bias == 0) == 2 * TYPES


def test_what_is_not_a_number_stays_the_maximum() -> None:
    projected = torch.zeros(NODES, WIDTH)
    projected[1] = float("nan")
    largest, felt = np.empty((2, 1, 1, WIDTH), np.float32)
    find_strongest(
        np.ones((1, 3, 1), np.float32),
        np.zeros((NODES, 3, 1), np.float32),
        np.zeros(1, np.int64),
        np.array([[0, 1, 2]]),
        projected.numpy(),
        largest,
        np.empty((1, 1, WIDTH), np.int32),
        felt,
    )
    assert np.isnan(largest).all()
