"""Bringing memory into the processor's cache ahead of its use, inside compiled loops.

Rows of random nodes are in main memory. A loop that asks for the row of a later turn waits for none of them.
A drawn candidate is anybody: what its statistics will read lies anywhere in memory, in some thirty places.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from model.history.compiled import compiled, inlined
from model.history.moment import Moment
from model.history.pairs import MIX
from model.history.state import NONE, RECENT, History

BYTE, NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
READ, KEEP, DATA = (ir.Constant(NUMBER, value) for value in (0, 3, 1))
NODES_AHEAD, PAIRS_AHEAD = 4, 2  # candidates; a pair's places are found from what is known of its nodes


def line_of(_context: object, array: types.Array) -> tuple[Signature, Callable[..., Any]]:
    """How numba makes `prefetch` of an array of this type."""

    def generate(context: Any, builder: Any, signature: Signature, arguments: Any) -> Any:  # noqa: ANN401
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        form = ir.FunctionType(ir.VoidType(), [BYTE, NUMBER, NUMBER, NUMBER])
        function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(data, BYTE), READ, KEEP, DATA])
        return context.get_dummy_value()

    return types.void(array), generate


# Ask for the cache line with the first number of an array; what it holds stays as it is.
prefetch: Callable[[np.ndarray], None] = intrinsic(line_of)  # ty: ignore[invalid-assignment]


@compiled
def prefetch_node(history: History, moment: Moment, role: int, who: int) -> None:
    """Ask for what `of_node` and `of_types` read of a node."""
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
def prefetch_place(table: np.ndarray, key: int) -> None:
    """Ask for where a hash table has a key."""
    at = np.uint64(key) * MIX >> np.uint64(32) & np.uint64(len(table) - 1)
    prefetch(table[np.int64(at) :])


@compiled
def prefetch_pair(history: History, a: int, b: int) -> None:
    """Ask for where the tables have the pair a→b and the sequences that lead to it."""
    nodes = len(history.head)
    prefetch_place(history.pair_table, a * nodes + b)
    for role in range(2):
        who, partner = (a, b) if role == 0 else (b, a)
        before = NONE
        for back in range(RECENT):
            earlier = history.recent[role, who, back]
            if earlier not in (NONE, before):
                prefetch_place(history.step_table, earlier * nodes + partner)
                before = earlier
        if history.latest[1 - role] != NONE:
            prefetch_place(history.step_table, history.latest[1 - role] * nodes + partner)
