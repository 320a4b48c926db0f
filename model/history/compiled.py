"""Compilation of the statistics with numba, cached on disk and invalidated when a source changes."""

import hashlib
from pathlib import Path

from numba import njit

HERE = Path(__file__).parent
SOURCES = (
    "compiled",
    "state",
    "logarithm",
    "pairs",
    "room",
    "update",
    "moment",
    "prefetch",
    "paths",
    "statistics",
    "passes",
    "own",
)


def discard_outdated_cache(folder: Path, sources: tuple[str, ...]) -> None:
    """Delete a folder's numba cache if one of its modules `sources` changed.

    numba checks only the file that defines a cached function, not the files of the functions it calls: after
    an edit there it would run outdated code.
    """
    digest = hashlib.sha256()
    for source in (folder / f"{name}.py" for name in sources):
        digest.update(source.read_bytes())
    cache = folder / "__pycache__"
    stamp = cache / "sources.sha256"
    try:
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest.hexdigest():
            return
        cache.mkdir(exist_ok=True)
        for outdated in [*cache.glob("*.nbi"), *cache.glob("*.nbc")]:
            outdated.unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest(), encoding="ascii")
    except OSError:  # a read-only installation does not change
        return


discard_outdated_cache(HERE, SOURCES)
# No reference counting: all arrays are allocated outside and outlive every call. Counting would cost more
# than the work, because each call takes the whole history. No GIL: training uses one piece of a stream while
# another thread computes the statistics of the next.
compiled = njit(cache=True, error_model="numpy", _nrt=False, nogil=True)
inlined = njit(
    cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True
)  # for functions called for every pair
