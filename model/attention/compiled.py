"""Compilation of the loops over slots: numba, cached on disk, and never an outdated cache."""

from pathlib import Path

from numba import njit

from model.history.compiled import discard_outdated_cache

HERE = Path(__file__).parent
SOURCES = ("compiled", "slots")
discard_outdated_cache(HERE, SOURCES)
# Without counting references: all arrays are made outside and outlive every call.
compiled = njit(cache=True, error_model="numpy", _nrt=False)
