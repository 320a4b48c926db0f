"""What a benchmark measures of a piece of work: in a process of its own, its memory, its files."""

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Measured = dict[str, float]


def size_of(folder: Path) -> float:
    """Bytes of all files below."""
    return float(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))


def peak() -> float:
    """The most memory that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def alone(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    """`work` in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()
