"""Capacity for more pairs, and conversion of the state to and from plain arrays."""

import numpy as np

from model.history.compiled import compiled
from model.history.pairs import pair_place, table_place
from model.history.state import NONE, PAIRS, STEPS, History, new_array, shapes

MOST_STEPS = 1 << 24  # sequences kept; beyond this, the half with the largest decayed counts stays


def history_with_room(history: History, pairs: int, steps: int) -> History:
    """Return a state with capacity for so many more slots; `history` itself if it suffices.

    Called between compiled passes, which never allocate. Capacity at least doubles: amortized O(1).
    """
    if history.sizes[1] + steps > MOST_STEPS:
        forget_steps(history, MOST_STEPS // 2)
    used = [int(size) for size in history.sizes[:2]]
    enough = (len(history.source), len(history.step_key))
    needed = (used[0] + pairs, used[1] + steps)
    if all(need <= had for need, had in zip(needed, enough, strict=True)):
        return history
    wanted = [had if need <= had else max(2 * had, need) for had, need in zip(enough, needed, strict=True)]
    nodes, types = len(history.head), history.type_count.shape[1]
    grown = shapes(nodes, types, *wanted)
    arrays = dict(zip(History._fields, history, strict=True))
    for names, use in ((PAIRS, used[0]), (STEPS, used[1])):
        for name in names:
            larger = new_array(name, grown[name])
            larger[:use] = arrays[name][:use]
            arrays[name] = larger
    for name in ("pair_table", "step_table"):
        arrays[name] = new_array(name, grown[name])
    roomy = History(**arrays)
    fill_tables(roomy)
    return roomy


def forget_steps(history: History, most: int) -> None:
    """Keep the `most` sequences with the largest decayed counts, and drop any others."""
    used = int(history.sizes[1])
    if used <= most:
        return
    strength = history.step_fade[:used].sum((1, 2))
    strongest = np.sort(np.argpartition(strength, used - most)[used - most :])
    for array in (history.step_key, history.step_fade):
        array[:most] = array[strongest]
        array[most:used] = 0
    history.sizes[1] = most
    history.pair_table[:] = NONE
    history.step_table[:] = NONE
    fill_tables(history)


def to_arrays(history: History) -> dict[str, np.ndarray]:
    """Return the state by name, cut to the slots in use, for a file. Hash tables are rebuilt on load."""
    use = dict.fromkeys(PAIRS, int(history.sizes[0])) | dict.fromkeys(STEPS, int(history.sizes[1]))
    return {
        name: (array[: use[name]] if name in use else array).copy()
        for name, array in zip(History._fields, history, strict=True)
        if not name.endswith("_table")
    }


def from_arrays(arrays: dict[str, np.ndarray]) -> History:
    """Restore the state from the output of `to_arrays`."""
    pairs, steps = (int(size) for size in arrays["sizes"][:2])
    nodes, types = len(arrays["head"]), arrays["node_type"].shape[3]
    made = {name: new_array(name, shape) for name, shape in shapes(nodes, types, pairs, steps).items()}
    for name, array in arrays.items():
        made[name][...] = array
    history = History(**made)
    fill_tables(history)
    return history


@compiled
def fill_tables(history: History) -> None:
    """Insert every slot in use into the empty hash tables."""
    for slot in range(history.sizes[0]):
        history.pair_table[pair_place(history, history.source[slot], history.target[slot])] = slot
    for slot in range(history.sizes[1]):
        history.step_table[table_place(history.step_table, history.step_key, history.step_key[slot])] = slot


def most_slots(events: int, *, by_role: bool) -> tuple[int, int]:
    """Return the largest numbers of pair and sequence slots that `events` events can need."""
    return 2 * events, 6 * events * (1 if by_role else 2)
