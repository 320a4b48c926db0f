"""What the statistics of coming candidates will read, brought into the cache ahead of their turn.

A drawn candidate is anybody: what is known of it lies anywhere in memory, in some thirty places.
"""

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.moment import Moment
from model.history.pairs import MIX
from model.history.prefetch import prefetch
from model.history.state import NONE, RECENT, History

NODES_AHEAD, PAIRS_AHEAD = 4, 2  # candidates; a pair's places are found from what is known of its nodes


@compiled
def bring_node(history: History, moment: Moment, role: int, who: int) -> None:
    """What `of_node` and `of_types` read of a node."""
    hour, weekday = int(moment.now[1]), int(moment.now[2])
    prefetch(history.node_fade[role, who])
    prefetch(history.node_fade[1 - role, who])
    prefetch(history.new_fade[role, who])
    prefetch(history.node_last[role, who:])
    prefetch(history.node_last[1 - role, who:])
    prefetch(history.node_count[who])
    prefetch(history.degree[who])
    prefetch(history.gap[role, who:])
    prefetch(history.hours[role, who, hour:])
    prefetch(history.near_hours[role, who, hour:])
    prefetch(history.weekdays[role, who, weekday:])
    prefetch(history.node_type[role, who, 0])
    prefetch(history.node_type[role, who, 1])
    prefetch(history.node_last_type[role, who:])
    prefetch(history.recent[role, who])
    prefetch(moment.paths.is_touched[who:])


@inlined
def bring_place(table: np.ndarray, key: int) -> None:
    """Where a hash table has a key."""
    at = np.uint64(key) * MIX >> np.uint64(32) & np.uint64(len(table) - 1)
    prefetch(table[np.int64(at) :])


@compiled
def bring_pair(history: History, a: int, b: int) -> None:
    """Where the tables have the pair a→b and the sequences that lead to it."""
    nodes = len(history.head)
    bring_place(history.pair_table, a * nodes + b)
    for role in range(2):
        who, partner = (a, b) if role == 0 else (b, a)
        before = NONE
        for back in range(RECENT):
            earlier = history.recent[role, who, back]
            if earlier not in (NONE, before):
                bring_place(history.step_table, earlier * nodes + partner)
                before = earlier
        if history.latest[1 - role] != NONE:
            bring_place(history.step_table, history.latest[1 - role] * nodes + partner)
