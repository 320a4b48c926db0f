"""Compilation of the statistics: numba, cached on disk, and never an outdated cache."""

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
    """Remove compiled functions of earlier `sources` of a folder.

    numba looks only at the file that a cached function is in, not at those whose functions it calls: after an
    edit of one of these it would go on with the old code.
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
# Without counting references: all arrays are made outside and outlive every call. Counting would cost more
# than the work, because each call takes the whole history. Other threads run meanwhile: a network learns from
# one piece of a stream while the statistics of the next are made.
compiled = njit(cache=True, error_model="numpy", _nrt=False, nogil=True)
inlined = njit(
    cache=True, error_model="numpy", _nrt=False, nogil=True, forceinline=True
)  # for what is called for each pair
