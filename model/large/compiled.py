"""Compilation of the loop over events: numba, cached on disk, and never an outdated cache."""

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
    # Numbers that are compiled in.
    "../stream",
    "../../pipeline/paper_training",
)
discard_outdated_cache(HERE, SOURCES)
# Without counting references, as in `model.history`.
compiled = njit(cache=True, error_model="numpy", _nrt=False, nogil=True)
inlined = njit(cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True)
# For sums, several terms at a time: in an order that their number alone decides.
summing = njit(
    cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True, fastmath={"reassoc"}
)
