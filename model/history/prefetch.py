"""Bringing memory into the processor's cache ahead of its use, inside compiled loops.

Rows of random nodes are in main memory. A loop that asks for the row of a later turn waits for none of them.
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

BYTE, NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
READ, KEEP, DATA = (ir.Constant(NUMBER, value) for value in (0, 3, 1))


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
