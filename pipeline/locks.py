"""Locks: one process at a time makes a day, an event table or a model, and another learns who it is.

A lock is an advisory `flock` on a file below `$LDG_HOME/locks`. The kernel lets go of it when the last
process that has the file open is gone, killed or not, so that no lock is ever stale. The file stays, and says
who holds it.

Assumed: the home lies on a file system whose `flock` reaches every process at work on it. Local ones do; NFS
does with a lock server (Linux sends `flock` there as a lock on the whole file). Where a file system ignores
`flock`, runs on different machines are not kept apart; where it refuses `flock`, the error is raised.
"""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from pipeline.lake import is_alive
from pipeline.progress import announce
from pipeline.text import duration

SECONDS_BETWEEN_TRIES = 0.2
LONGEST_WAIT_FOR_A_SLOT = 24 * 3600.0  # seconds


class LockedError(RuntimeError):
    """Another process is at work on the same thing; the message says which, since when and what to do."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock, and what it is: for instance `Dagster run 1a2b3c4d`."""

    process: int
    host: str
    work: str
    since: datetime

    @classmethod
    def here(cls, work: str) -> Self:
        """This process, from now on."""
        return cls(os.getpid(), socket.gethostname(), work, datetime.now(UTC).replace(microsecond=0))

    def __str__(self) -> str:
        elsewhere = self.host != socket.gethostname()
        # A process may leave the lock to those that it started.
        gone = "" if elsewhere or is_alive(self.process) else ", which is gone while those it started end"
        place = f" on {self.host}" if elsewhere else ""
        return f"process {self.process}{place} ({self.work}) since {self.since:%Y-%m-%d %H:%M:%S} UTC{gone}"


holder_decoder = msgspec.json.Decoder(Holder)


@contextmanager
def hold(
    path: Path,
    happening: str,
    work: str,
    patience: float = 0.0,
    log: Callable[[str], None] | None = None,
) -> Generator[int]:
    """Hold the lock at `path` for some `work`, such as `Dagster run 1a2b3c4d`; yields its file descriptor.

    If another process holds it, `log` and whoever watches hear what is happening (`2013-02-15 is being made`)
    and by whom, and this waits up to `patience` seconds; then it is an error. Children that inherit the file
    descriptor hold the lock, too, until the last of them is gone.
    """
    with hold_one_of([path], happening, work, patience, log) as descriptor:
        yield descriptor


@contextmanager
def hold_one_of(
    paths: Sequence[Path],
    happening: str,
    work: str,
    patience: float = 0.0,
    log: Callable[[str], None] | None = None,
) -> Generator[int]:
    """Hold one of several locks, whichever is free, otherwise as `hold`: so many locks are so many slots."""
    with ExitStack() as files:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        opened = [files.enter_context(path.open("a+b")) for path in paths]
        deadline = time.monotonic() + patience
        waits: list[str] = []
        while (file := next((file for file in opened if taken(file.fileno())), None)) is None:
            holders = [str(holder(path) or "another process") for path in paths]
            busy = f"{happening} by {' and '.join(holders)}"
            if time.monotonic() >= deadline:
                waited = f", waited {duration(patience)} in vain" if patience else ""
                raise LockedError(f"{busy}{waited}: try again when that is done, or end it first")
            if not waits:
                waits.append(f"{busy}: waiting up to {duration(patience)}")
                announce(waits[0])
                if log is not None:
                    log(waits[0])
            time.sleep(SECONDS_BETWEEN_TRIES)
        for line in waits:
            announce(line, ended=True)
        file.truncate(0)
        file.write(msgspec.json.encode(Holder.here(work)))
        file.flush()
        try:
            yield file.fileno()
        finally:
            file.truncate(0)


def taken(descriptor: int) -> bool:
    """Take the lock of an open file; False if another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> Holder | None:
    """Who wrote last into the lock at `path` that it holds it; None just before a new holder does."""
    try:
        return holder_decoder.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
