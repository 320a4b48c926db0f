"""The machine and the code version of this process, recorded with measured times.

Contains no names of users, hosts or paths.
"""

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

PACKAGE = "latent-dynamic-graphs"  # the project's distribution name
PACKAGES = ("torch", "numpy", "polars", "pyarrow", "duckdb", "dagster")
PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Machine:
    """The hardware and software of a run; None for values that the system does not report."""

    processors: int
    cpu: str | None
    memory_bytes: int | None
    system: str
    python: str
    packages: dict[str, str]

    @classmethod
    def here(cls) -> Self:
        """Return the machine of this process."""
        return cls(
            processors=processors(),
            cpu=cpu_model(),
            memory_bytes=memory_bytes(),
            system=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
            packages={package: version(package) for package in PACKAGES},
        )


def processors() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str | None:
    """Return the processor's name, or None if unknown."""
    listing = Path("/proc/cpuinfo")
    if not listing.exists():
        return platform.processor() or None
    lines = listing.read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def memory_bytes() -> int | None:
    """Return the size of physical memory in bytes, or None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def commit() -> str | None:
    """Return the current commit, with `+` for uncommitted changes; None outside the project's repository."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*question: str) -> str | None:
        done = subprocess.run(  # noqa: S603 - fixed questions
            [git, "-C", str(PROJECT), *question], capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    prefix, head = ask("rev-parse", "--show-prefix"), ask("rev-parse", "HEAD")
    # A prefix means that the project lies inside another repository, whose commit is irrelevant.
    if prefix is None or prefix.strip() or head is None:
        return None
    changed = ask("status", "--porcelain", "--untracked-files=no")
    return head.strip() + ("+" if changed else "")
