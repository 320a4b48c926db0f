"""Lookup of pair and sequence slots, and the linked lists of a node's slots: O(1) each."""

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.state import NEVER, NONE, History

MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def table_place(table: np.ndarray, keys: np.ndarray, key: int) -> int:
    """Return the position of `key` in a hash table of slots, or the free position for it."""
    mask = np.uint64(len(table) - 1)
    at = (np.uint64(key) * MIX >> np.uint64(32)) & mask
    while table[at] != NONE and keys[table[at]] != key:
        at = (at + np.uint64(1)) & mask
    return int(at)


@inlined
def pair_place(history: History, a: int, b: int) -> int:
    """Return the position of a→b's slot in the hash table, or the free position for it."""
    table, source, target = history.pair_table, history.source, history.target
    mask = np.uint64(len(table) - 1)
    at = (np.uint64(a * len(history.head) + b) * MIX >> np.uint64(32)) & mask
    while table[at] != NONE and (source[table[at]] != a or target[table[at]] != b):
        at = (at + np.uint64(1)) & mask
    return int(at)


@inlined
def slot_of(history: History, a: int, b: int) -> int:
    """Return the slot of a→b, or `NONE` if the pair was never seen."""
    return int(np.int64(history.pair_table[pair_place(history, a, b)]))


@compiled
def claim_slot(history: History, a: int, b: int) -> int:
    """Return the slot of a→b; allocate those of a→b and b→a if the pair is new."""
    at = pair_place(history, a, b)
    if history.pair_table[at] == NONE:
        slot = history.sizes[0]
        history.sizes[0] += 2
        history.source[slot], history.target[slot] = a, b
        history.source[slot + 1], history.target[slot + 1] = b, a
        history.pair_table[at] = slot
        history.pair_table[pair_place(history, b, a)] = slot + 1
        for new in (slot, slot + 1):
            history.last[new], history.tie[new], history.last_type[new] = NEVER, np.inf, NONE
            history.after[new], history.before[new] = NONE, NONE
    return int(np.int64(history.pair_table[at]))


@inlined
def step_of(history: History, x: int, y: int) -> int:
    """Return the slot of the sequence x, y, or `NONE` if it never occurred."""
    key = x * len(history.head) + y
    return int(np.int64(history.step_table[table_place(history.step_table, history.step_key, key)]))


@inlined
def step_after(history: History, earlier: int, later: int) -> int:
    """Return the slot of a sequence of two, or `NONE` if it never occurred."""
    return NONE if earlier == NONE else step_of(history, earlier, later)


@compiled
def claim_step(history: History, x: int, y: int) -> int:
    """Return the slot of the sequence x, y; allocate it if it is new."""
    key = x * len(history.head) + y
    at = table_place(history.step_table, history.step_key, key)
    if history.step_table[at] == NONE:
        slot = history.sizes[1]
        history.sizes[1] += 1
        history.step_key[slot] = key
        history.step_table[at] = slot
    return int(np.int64(history.step_table[at]))


@compiled
def to_front(history: History, slot: int, lane: int) -> None:
    """Move `slot` to the front of its source's list `lane`; insert it if it is not in the list yet."""
    node = history.source[slot]
    first = history.head[node, lane]
    if first == slot:
        return
    earlier, later = history.before[slot, lane], history.after[slot, lane]
    if earlier == NONE:
        history.degree[node, lane] += 1
    else:
        history.after[earlier, lane] = later
        if later != NONE:
            history.before[later, lane] = earlier
    history.before[slot, lane], history.after[slot, lane] = NONE, first
    if first != NONE:
        history.before[first, lane] = slot
    history.head[node, lane] = slot
