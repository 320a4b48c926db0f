"""Compilation of the loops over slots with numba, cached on disk; outdated caches are discarded."""

from pathlib import Path

from numba import njit

from model.history.compiled import discard_outdated_cache

HERE = Path(__file__).parent
SOURCES = ("compiled", "slots")
discard_outdated_cache(HERE, SOURCES)
# No reference counting: all arrays are allocated outside and outlive every call.
compiled = njit(cache=True, error_model="numpy", _nrt=False)
