"""Index of the argmax neighbours of the max-pooling in eq. 3; only they receive gradients.

G: rows before the batch that are an argmax neighbour in at least one feature.
"""

from typing import NamedTuple

import numpy as np

from model.large.compiled import compiled
from model.large.layout import Plan, Room, sort_by_row
from model.large.pages import NOBODY


class Felt(NamedTuple):
    """The maxima of each argmax row: the batch's new rows, then earlier ones in order of first use."""

    rows: np.ndarray  # (G) int64: rows before the batch
    first: np.ndarray  # (2B + G + 1) int64: start of each row's maxima in `by`
    by: np.ndarray  # flat indices into (B, 2, r, d) of each row's maxima, in the order of events


@compiled
def fill_felt(
    plan: Plan, strongest: np.ndarray, place: np.ndarray, rows: np.ndarray, felt: np.ndarray, at: np.ndarray
) -> tuple[int, int]:
    """Fill `rows` (G) and, for each maximum, `felt` (its row's index in `Felt`) and `at` (its flat index).

    `place` (R) must be filled with NOBODY. Return G and the number of maxima.
    """
    events, _, types, d = strongest.shape
    before, count = 0, 0
    for b in range(events):
        for end in range(2):
            first = plan.near_first[b, end]
            for t in range(types):
                for f in range(d):
                    slot = strongest[b, end, t, f]
                    if slot == NOBODY:
                        continue
                    row = np.int64(plan.near[first + slot])
                    if row >= 2 * events:
                        if place[row] == NOBODY:
                            place[row] = before
                            rows[before] = row
                            before += 1
                        row = 2 * events + place[row]
                    felt[count], at[count] = row, ((2 * b + end) * types + t) * d + f
                    count += 1
    return before, count


def felt_rows(plan: Plan, strongest: np.ndarray, all_rows: int, room: Room) -> Felt:
    """Build the index from the argmax slots (B, 2, r, d)."""
    place, most = room("felt_place", (all_rows,)), strongest.size
    place.fill(NOBODY)
    rows, felt, at = (room(f"felt_{name}", (most,)) for name in ("rows", "numbers", "places"))
    before, count = fill_felt(plan, strongest, place, rows, felt, at)
    first, order = room("felt_first", (2 * len(strongest) + before + 1,)), room("felt_order", (count,))
    sort_by_row(felt[:count], first, order)
    return Felt(rows[:before], first, at[order])
