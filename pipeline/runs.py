"""What headless runs did on a home: when, at which commit, on what machine, and how long each training took.

Sessions add up in `results/run.json`: a run that is killed and started again keeps the earlier ones. Nothing
in it names a user, a host or a path.
"""

import json
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Self

import msgspec

from pipeline.lake import Lake, write_json
from pipeline.settings import processors

PACKAGES = ("torch", "numpy", "polars", "pyarrow", "duckdb", "dagster")
PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Machine:
    """What a session ran on; None stands for what the system does not reveal."""

    processors: int
    cpu: str | None
    memory_bytes: int | None
    system: str
    python: str
    packages: dict[str, str]

    @classmethod
    def here(cls) -> Self:
        """The machine of this process."""
        return cls(
            processors=processors(),
            cpu=cpu_model(),
            memory_bytes=memory_bytes(),
            system=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
            packages={package: version(package) for package in PACKAGES},
        )


@dataclass(frozen=True)
class FinishedTraining:
    """A training that a session brought to its end; `seconds` are this session's, not those before a kill."""

    dataset: str
    variant: str
    seconds: float
    resumed: bool


@dataclass(frozen=True)
class Session:
    """One headless run, with up to `side_by_side` trainings at a time.

    `ended` is when it was last heard of: a killed one does not say goodbye. `finished`: everything was made.
    """

    started: datetime
    ended: datetime
    finished: bool
    commit: str | None
    machine: Machine
    side_by_side: int
    trainings: tuple[FinishedTraining, ...] = ()


class SessionRecord:
    """The session of this process, on disk after every step of it."""

    def __init__(self, lake: Lake, side_by_side: int) -> None:
        self.lake = lake
        now = utc_now()
        self.session = Session(now, now, False, commit(), Machine.here(), side_by_side)
        write_session(self.session, lake)

    def note(self, *trainings: FinishedTraining, finished: bool = False) -> None:
        """A step is done: perhaps `trainings`, perhaps the last."""
        every = (*self.session.trainings, *trainings)
        self.session = replace(self.session, ended=utc_now(), finished=finished, trainings=every)
        write_session(self.session, self.lake)


def read_sessions(lake: Lake) -> list[Session]:
    """Every session of this home, the first one first; none where nothing ran headless."""
    if not lake.sessions.exists():
        return []
    return msgspec.convert(json.loads(lake.sessions.read_text(encoding="utf-8"))["sessions"], list[Session])


def write_session(session: Session, lake: Lake) -> None:
    """Keep `session` beside the earlier ones; the one that started when it did is replaced."""
    earlier = [other for other in read_sessions(lake) if other.started != session.started]
    write_json({"sessions": msgspec.to_builtins([*earlier, session])}, lake.sessions)


def utc_now() -> datetime:
    """This moment, naive and in UTC as every time of the system."""
    return datetime.now(UTC).replace(tzinfo=None)


def commit() -> str | None:
    """The commit this code is at, `+` for changes not in it; None outside a repository of its own."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*question: str) -> str | None:
        done = subprocess.run(  # noqa: S603 - fixed questions
            [git, "-C", str(PROJECT), *question], capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    prefix, head = ask("rev-parse", "--show-prefix"), ask("rev-parse", "HEAD")
    # Installed inside another repository, the project is a folder of that one, and its commit says nothing.
    if prefix is None or prefix.strip() or head is None:
        return None
    changed = ask("status", "--porcelain", "--untracked-files=no")
    return head.strip() + ("+" if changed else "")


def cpu_model() -> str | None:
    """The processor's name."""
    listing = Path("/proc/cpuinfo")
    if not listing.exists():
        return platform.processor() or None
    lines = listing.read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def memory_bytes() -> int | None:
    """The machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
