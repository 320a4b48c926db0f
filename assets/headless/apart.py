"""Work in processes of their own, which are forked (`assets.forks`).

A process tells its parent how far it is over a pipe, and leaves Ctrl-C to it. Another pipe, which the parent
never writes to and holds open, ends when the parent does, however that was: so does the process then. It
holds the home's lock as well, so that no other headless run starts before it is gone.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from threading import Thread
from typing import Any

from assets.forks import PROCESSES, begin_imports

Tell = Callable[[Any], None]


@dataclass(frozen=True)
class Descriptor:
    """A file descriptor that a process takes along."""

    number: int

    def __reduce__(self) -> tuple[Callable[[Any], "Descriptor"], tuple[Any]]:
        return received, (DupFd(self.number),)


def received(copy: Any) -> Descriptor:  # noqa: ANN401 - it has no public type
    """A descriptor on the other side."""
    return Descriptor(copy.detach())


def run_apart(
    work: Callable[..., None], *arguments: object, listen: Tell, their_end: int, lock: int
) -> tuple[int, str]:
    """Call `work(*arguments, tell=…)` in a process of its own; return its exit code and what it printed.

    Whatever the work tells, `listen` hears. The process ends when the pipe does whose reading end is
    `their_end`, and takes along the descriptor of a `lock`.
    """
    hear, tell = PROCESSES.Pipe(duplex=False)
    with hear, TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        descriptors = [Descriptor(number) for number in (printed.fileno(), their_end, lock)]
        process = PROCESSES.Process(target=perform, args=(work, arguments, tell, *descriptors))
        process.start()
        tell.close()
        with suppress(EOFError):
            while True:
                listen(hear.recv())
        process.join()
        assert process.exitcode is not None
        printed.seek(0)
        return process.exitcode, printed.read().strip()


def prepare() -> None:
    """Let the imports begin in a process that leaves Ctrl-C to this one."""
    # What is blocked here stays blocked there and in every fork.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        begin_imports()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def perform(
    work: Callable[..., None],
    arguments: tuple[object, ...],
    tell: Connection,
    printed: Descriptor,
    our_end: Descriptor,
    lock: Descriptor,  # noqa: ARG001 - held for as long as this process lives
) -> None:
    """The process, in a session of its own; an error is the last that it prints, and its parent shows it."""
    os.setsid()
    for stream in (sys.stdout, sys.stderr):
        os.dup2(printed.number, stream.fileno())
    Thread(target=end_with_parent, args=(our_end,), daemon=True).start()
    status = 0
    try:
        work(*arguments, tell=tell.send)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the parent shows it
        status = 1
    # What training leaves behind makes DuckDB's bindings report themselves as leaked at a regular exit.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_with_parent(pipe: Descriptor) -> None:
    """Wait for the end of the pipe, then end this process on the spot; checkpoints stay."""
    os.read(pipe.number, 1)
    os._exit(1)
