"""Compiled loops over the slots of rows u and v: one fused pass instead of a dozen torch operations.

They round in the same order as torch. Sums over slots are accumulated in double precision in slot order and
rounded once: trailing zeros do not change them, so a seed's results do not depend on the row width of other
seeds.

M: rows of an event, u and v of each seed; K: slots in use, C: all slots, r: edge types, d: width; rows of S
and of W_h Z are numbered over seeds and nodes (S·N).
"""

import numpy as np

from model.attention.compiled import compiled

SMALLEST_TOTAL = 1e-12


@compiled
def add_bias(values: np.ndarray, bias: np.ndarray, rows: np.ndarray, sums: np.ndarray) -> None:
    """Add S and its bias (S·N, C, r) of `rows` (M) into `sums` (M, K, r)."""
    for m in range(len(rows)):
        for k in range(sums.shape[1]):
            for t in range(sums.shape[2]):
                sums[m, k, t] = values[rows[m], k, t] + bias[rows[m], k, t]


@compiled
def divide_by_totals(weights: np.ndarray, totals: np.ndarray) -> None:
    """Divide `weights` (M, K, r) by their sum over slots, written to `totals` (M, r)."""
    for m in range(len(weights)):
        for t in range(weights.shape[2]):
            total = 0.0
            for k in range(weights.shape[1]):
                total += weights[m, k, t]
            totals[m, t] = total
            totals[m, t] = max(totals[m, t], SMALLEST_TOTAL)
        for k in range(weights.shape[1]):
            for t in range(weights.shape[2]):
                weights[m, k, t] /= totals[m, t]


@compiled
def find_strongest(
    weights: np.ndarray,
    bias: np.ndarray,
    rows: np.ndarray,
    neighbours: np.ndarray,
    projected: np.ndarray,
    largest: np.ndarray,
    slots: np.ndarray,
    felt: np.ndarray,
) -> None:
    """Max-pool softmax(S)·W_h z over slots (eq. 3): maximum, first argmax and W_h z there, all (M, r, d).

    `weights` (M, K or more, r) are the softmax of `rows` (M), whose `neighbours` (M, K) are rows of
    `projected` (S·N, d); `bias` (S·N, C, r). NaN propagates as the maximum.
    """
    for m in range(len(rows)):
        for t in range(weights.shape[2]):
            best, slot = largest[m, t], slots[m, t]
            best[:] = -np.inf
            slot[:] = 0
            for k in range(neighbours.shape[1]):
                weight, absent, near = weights[m, k, t], bias[rows[m], k, t], projected[neighbours[m, k]]
                for i in range(len(best)):
                    product = weight * near[i] + absent
                    more = product > best[i] or product != product  # the second test detects NaN
                    best[i] = product if more else best[i]
                    slot[i] = k if more else slot[i]
            for i in range(len(best)):
                felt[m, t, i] = projected[neighbours[m, slot[i]], i]


@compiled
def give_back_to_strongest(
    d_largest: np.ndarray,
    slots: np.ndarray,
    weights: np.ndarray,
    neighbours: np.ndarray,
    d_projected: np.ndarray,
) -> None:
    """Add the gradient of W_h z, from that of the maximal products (M, r, d), to `d_projected` (S·N, d)."""
    for m in range(len(slots)):
        for t in range(slots.shape[1]):
            for i in range(slots.shape[2]):
                k = slots[m, t, i]
                d_projected[neighbours[m, k], i] += d_largest[m, t, i] * weights[m, k, t]


@compiled
def give_back_to_rows(
    d_largest: np.ndarray,
    slots: np.ndarray,
    felt: np.ndarray,
    weights: np.ndarray,
    rows: np.ndarray,
    d_values: np.ndarray,
    d_weights: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add the gradient of S, from that of the maximal products through softmax, to `d_values` (S·N, C, r).

    `d_weights` (M, K, r) must be zero on entry; `totals` (M, r) is scratch.
    """
    for m in range(len(rows)):
        for t in range(slots.shape[1]):
            for i in range(slots.shape[2]):
                d_weights[m, slots[m, t, i], t] += d_largest[m, t, i] * felt[m, t, i]
            total = 0.0
            for k in range(weights.shape[1]):
                total += weights[m, k, t] * d_weights[m, k, t]
            totals[m, t] = total
        for k in range(weights.shape[1]):
            for t in range(weights.shape[2]):
                d_values[rows[m], k, t] += weights[m, k, t] * (d_weights[m, k, t] - totals[m, t])


@compiled
def set_entries(
    values: np.ndarray,
    bias: np.ndarray,
    rows: np.ndarray,
    slots: np.ndarray,
    sampled: np.ndarray,
    after: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Set the pair's entries to the last r columns of `sampled` (M, r') and normalize their rows.

    Row sums go to `totals` (M, r), new rows to `after` (M, K, r). The pair gets all edge types.
    """
    types = values.shape[2]
    first = sampled.shape[1] - types
    for m in range(len(rows)):
        row = values[rows[m]]
        for t in range(types):
            row[slots[m], t] = sampled[m, first + t]
            bias[rows[m], slots[m], t] = 0.0
            total = 0.0
            for k in range(after.shape[1]):
                total += row[k, t]
            totals[m, t] = total
            totals[m, t] = max(totals[m, t], SMALLEST_TOTAL)
        for k in range(after.shape[1]):
            for t in range(types):
                row[k, t] /= totals[m, t]
                after[m, k, t] = row[k, t]


@compiled
def undo_entries(
    d_values: np.ndarray,
    rows: np.ndarray,
    slots: np.ndarray,
    after: np.ndarray,
    totals: np.ndarray,
    d_totals: np.ndarray,
    d_sampled: np.ndarray,
) -> None:
    """Backpropagate `set_entries`: update `d_values` (S·N, C, r), set the last r columns of `d_sampled`
    (M, r'); `d_totals` (M, r) is scratch.
    """
    types = d_values.shape[2]
    first = d_sampled.shape[1] - types
    for m in range(len(rows)):
        d_row = d_values[rows[m]]
        for t in range(types):
            total = 0.0
            for k in range(after.shape[1]):
                total += d_row[k, t] * after[m, k, t]
            d_totals[m, t] = total
        for k in range(after.shape[1]):
            for t in range(types):
                d_row[k, t] = (d_row[k, t] - d_totals[m, t]) / totals[m, t]
        for t in range(types):
            d_sampled[m, first + t] = d_row[slots[m], t]
            d_row[slots[m], t] = 0.0


@compiled
def follow_dyrep_rule(
    values: np.ndarray,
    rows: np.ndarray,
    slots: np.ndarray,
    share: np.ndarray,
    loss: np.ndarray,
    intensity: np.ndarray,
    applies: np.ndarray,
    width: int,
    totals: np.ndarray,
) -> None:
    """Apply DyRep's rule to rows u and v of `values` (S·N, C, 1), in the first `width` slots.

    `share` (S, 2) is b = 1/deg and `loss` (S, 2) x = b' − b, empty for a communication; `intensity` (S) is λ;
    `applies` (S) masks seeds in which the pair is associated, empty for all; `totals` (S·2, 1) is scratch.
    """
    for m in range(len(rows)):
        seed, end = m // 2, m % 2
        if len(applies) and not applies[seed]:
            continue
        row = values[rows[m]]
        if len(loss):
            for k in range(width):
                if row[k, 0] != 0:
                    row[k, 0] -= loss[seed, end]
        row[slots[m], 0] = share[seed, end] + intensity[seed]
        total = 0.0
        for k in range(width):
            total += row[k, 0]
        totals[m, 0] = total
        for k in range(width):
            row[k, 0] /= totals[m, 0]
