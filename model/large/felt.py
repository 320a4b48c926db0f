"""Which neighbours were felt: of thousands, the strongest alone count (eq. 3), and have a gradient.

G: rows before the batch that are the strongest neighbour of somebody in some feature.
"""

from typing import NamedTuple

import numpy as np

from model.large.compiled import compiled
from model.large.layout import Plan, Room, sort_by_row
from model.large.pages import NOBODY


class Felt(NamedTuple):
    """Who felt which row: new rows first, then those before the batch as they came to be felt."""

    rows: np.ndarray  # (G) int64: the rows before the batch
    first: np.ndarray  # (2B + G + 1) int64: where those that felt each row begin
    by: np.ndarray  # places in (B, 2, r, d) where it was the strongest, in the order of events


@compiled
def fill_felt(
    plan: Plan, strongest: np.ndarray, place: np.ndarray, rows: np.ndarray, felt: np.ndarray, at: np.ndarray
) -> tuple[int, int]:
    """Fill `rows` (G) and, for each maximum, `felt` (its row's number in `Felt`) and `at` (its place).

    `place` (R) is NOBODY everywhere. Returns G and the number of maxima.
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
    """Who felt whom, from the slots of all maxima (B, 2, r, d)."""
    place, most = room("felt_place", (all_rows,)), strongest.size
    place.fill(NOBODY)
    rows, felt, at = (room(f"felt_{name}", (most,)) for name in ("rows", "numbers", "places"))
    before, count = fill_felt(plan, strongest, place, rows, felt, at)
    first, order = room("felt_first", (2 * len(strongest) + before + 1,)), room("felt_order", (count,))
    sort_by_row(felt[:count], first, order)
    return Felt(rows[:before], first, at[order])
