"""Prefetching of memory into the processor's cache, inside compiled loops.

Candidates are random nodes, so computing their statistics causes about thirty cache misses each. A loop
prefetches the rows of later candidates while it works on the current one.
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
NODES_AHEAD, PAIRS_AHEAD = 4, 2  # candidates; prefetching a pair reads its nodes' rows, so it comes later


def line_of(_context: object, array: types.Array) -> tuple[Signature, Callable[..., Any]]:
    """Return the signature and the code generator of `prefetch` for this array type."""

    def generate(context: Any, builder: Any, signature: Signature, arguments: Any) -> Any:  # noqa: ANN401
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        form = ir.FunctionType(ir.VoidType(), [BYTE, NUMBER, NUMBER, NUMBER])
        function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(data, BYTE), READ, KEEP, DATA])
        return context.get_dummy_value()

    return types.void(array), generate


# Prefetch the cache line of an array's first element; the data is not changed.
prefetch: Callable[[np.ndarray], None] = intrinsic(line_of)  # ty: ignore[invalid-assignment]


@compiled
def prefetch_node(history: History, moment: Moment, role: int, who: int) -> None:
    """Prefetch the rows of a node that the statistics read."""
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
    """Prefetch the hash table entry of a key."""
    at = np.uint64(key) * MIX >> np.uint64(32) & np.uint64(len(table) - 1)
    prefetch(table[np.int64(at) :])


@compiled
def prefetch_pair(history: History, a: int, b: int) -> None:
    """Prefetch the hash table entries of the pair a→b and of the sequences that lead to it."""
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
