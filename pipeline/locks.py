"""Locks: only one process at a time writes a day, an event table or a model; others see who holds the lock.

A lock is an advisory `flock` on a file below `$LDG_HOME/locks`. The kernel releases it when the last process
that has the file open exits or is killed, so locks are never stale. The file stays and names the holder.

The home must be on a file system whose `flock` reaches all processes that use it: a local one, or NFS with a
lock server (Linux translates `flock` to a lock on the whole file). If a file system ignores `flock`, runs on
different machines are not excluded; if it refuses `flock`, the error is raised.
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
    """A lock held by another process; the message names it, since when, and what to do."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock, and its work, for instance `Dagster run 1a2b3c4d`."""

    process: int
    host: str
    work: str
    since: datetime

    @classmethod
    def here(cls, work: str) -> Self:
        """Return this process as a holder since now."""
        return cls(os.getpid(), socket.gethostname(), work, datetime.now(UTC).replace(microsecond=0))

    def __str__(self) -> str:
        elsewhere = self.host != socket.gethostname()
        # Child processes may inherit the lock.
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
    """Hold the lock at `path` for some `work`, such as `Dagster run 1a2b3c4d`; yield its file descriptor.

    If another process holds it, report `happening` (`2013-02-15 is being made`) and the holder to `log` and
    the progress watcher, wait up to `patience` seconds, then raise LockedError. Children that inherit the
    file descriptor keep the lock until the last of them exits.
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
    """Hold any free one of several locks (a counting semaphore with a slot per path), otherwise as `hold`."""
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
    """Try to lock an open file without waiting; return False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> Holder | None:
    """Return the holder recorded in the lock file at `path`, or None, as just before a new holder writes."""
    try:
        return holder_decoder.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
