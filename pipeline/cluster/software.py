"""The software versions of a process: client and workers need the same ones to get the same results."""

import hashlib
import platform
import re
import socket
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Self

from pipeline.cluster.task import ClusterError
from pipeline.machine import PACKAGE

ROOMS = ("pipeline", "model", "assets")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Software:
    """The versions of Python, of the project's code (a hash) and of its required packages."""

    python: str
    code: str
    packages: dict[str, str]

    @classmethod
    @cache
    def here(cls) -> Self:
        """Return the software of this process."""
        required = [
            re.split(r"[^\w.-]", line)[0] for line in requires(PACKAGE) or () if "extra ==" not in line
        ]
        packages = {name: installed_version(name) for name in (*required, "distributed")}
        return cls(".".join(platform.python_version_tuple()[:2]), code_digest(), packages)

    def differences(self, other: Self) -> list[str]:
        """List the differences, for instance `torch is 2.13.0 here and 2.12.0 there`."""
        mine = {"Python": self.python, "the project's code": self.code, **self.packages}
        theirs = {"Python": other.python, "the project's code": other.code, **other.packages}
        return [
            f"{name} is {mine.get(name, 'nothing')} here and {theirs.get(name, 'nothing')} there"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        ]


def installed_version(package: str) -> str:
    """Return the version of an installed package, or `not installed`."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def code_digest() -> str:
    """Return a hash of all Python files of the project (12 hex digits)."""
    total = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:12]


def refuse_other_software(software: Software) -> None:
    """Raise ClusterError if the client's software differs from this worker's."""
    if mismatches := software.differences(Software.here()):
        raise ClusterError(
            f"the worker on {socket.gethostname()} has other software ({'; '.join(mismatches)}): its results "
            "might differ. Install the same commit with the same requirements on every machine, then start "
            "its workers again"
        )
