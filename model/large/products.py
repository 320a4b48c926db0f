"""Products of small matrices inside compiled loops, by direct calls to BLAS.

`np.dot` counts references, which is disabled in the compiled loops. Sizes are arguments, because a row may be
read as a matrix. All arrays must be contiguous and in single precision.
"""

import numpy as np
from numba import types
from numba.np.linalg import _BLAS, ensure_blas

from model.large.compiled import inlined

ensure_blas()
gemm = _BLAS().numba_xxgemm(types.float32)
SINGLE, PLAIN, TRANSPOSED = ord("s"), ord("n"), ord("t")
ONE, ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)


@inlined
def multiply(rows: int, inner: int, columns: int, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Compute `out` (rows, columns) = a (rows, inner) · b (inner, columns)."""
    gemm(
        SINGLE, PLAIN, PLAIN, columns, rows, inner, ONE.ctypes, b.ctypes, columns, a.ctypes, inner,
        ZERO.ctypes, out.ctypes, columns,
    )  # fmt: skip


@inlined
def multiply_by_transposed(
    rows: int, inner: int, columns: int, a: np.ndarray, b: np.ndarray, out: np.ndarray
) -> None:
    """Compute `out` (rows, columns) = a (rows, inner) · bᵀ, with b (columns, inner)."""
    gemm(
        SINGLE, TRANSPOSED, PLAIN, columns, rows, inner, ONE.ctypes, b.ctypes, inner, a.ctypes, inner,
        ZERO.ctypes, out.ctypes, columns,
    )  # fmt: skip


@inlined
def multiply_transposed(
    rows: int, inner: int, columns: int, a: np.ndarray, b: np.ndarray, out: np.ndarray
) -> None:
    """Compute `out` (rows, columns) = aᵀ · b (inner, columns), with a (inner, rows)."""
    gemm(
        SINGLE, PLAIN, TRANSPOSED, columns, rows, inner, ONE.ctypes, b.ctypes, columns, a.ctypes, rows,
        ZERO.ctypes, out.ctypes, columns,
    )  # fmt: skip
