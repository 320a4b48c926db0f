"""Compilation of the loop over events with numba, cached on disk; outdated caches are discarded."""

from pathlib import Path

from numba import njit

from model.history.compiled import discard_outdated_cache

HERE = Path(__file__).parent
SOURCES = (
    "compiled",
    "pages",
    "senders",
    "layout",
    "felt",
    "functions",
    "products",
    "arrays",
    "forward",
    "backward",
    "layers",
    "../history/prefetch",
    # Constants that are compiled in.
    "../stream",
    "../../pipeline/paper_training",
)
discard_outdated_cache(HERE, SOURCES)
# No reference counting, as in `model.history`.
compiled = njit(cache=True, error_model="numpy", _nrt=False, nogil=True)
inlined = njit(cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True)
# For vectorized sums; the order of the terms depends only on their number.
summing = njit(
    cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True, fastmath={"reassoc"}
)
