"""Room for more pairs, and the state as plain arrays for a file."""

import numpy as np

from model.history.pairs import fill_tables
from model.history.state import PAIRS, STEPS, History, new_array, shapes


def with_room(history: History, pairs: int, steps: int) -> History:
    """The same state with room for so many more slots; itself if it has it.

    Called between compiled passes, which therefore never allocate. Room at least doubles: amortized O(1).
    """
    used = [int(size) for size in history.sizes[:2]]
    enough = (len(history.source), len(history.step_key))
    if used[0] + pairs <= enough[0] and used[1] + steps <= enough[1]:
        return history
    wanted = [max(had, 2 * (use + more)) for had, use, more in zip(enough, used, (pairs, steps), strict=True)]
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


def to_arrays(history: History) -> dict[str, np.ndarray]:
    """The state by name, cut to the slots in use: what a file keeps. Hash tables are made again."""
    use = dict.fromkeys(PAIRS, int(history.sizes[0])) | dict.fromkeys(STEPS, int(history.sizes[1]))
    return {
        name: (array[: use[name]] if name in use else array).copy()
        for name, array in zip(History._fields, history, strict=True)
        if not name.endswith("_table")
    }


def from_arrays(arrays: dict[str, np.ndarray]) -> History:
    """The state that `to_arrays` took apart."""
    pairs, steps = (int(size) for size in arrays["sizes"][:2])
    nodes, types = len(arrays["head"]), arrays["node_type"].shape[3]
    made = {name: new_array(name, shape) for name, shape in shapes(nodes, types, pairs, steps).items()}
    for name, array in arrays.items():
        made[name][...] = array
    history = History(**made)
    fill_tables(history)
    return history
