"""Work in forked child processes (`assets.forks`).

A child reports progress to its parent over a pipe and blocks Ctrl-C. It exits when a second pipe, which the
parent holds open, closes: that is, when the parent dies for any reason. It also holds the home's lock, so
that no other headless run starts before the child has exited.
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
    """A file descriptor that is duplicated into a child process when pickled."""

    number: int

    def __reduce__(self) -> tuple[Callable[[Any], "Descriptor"], tuple[Any]]:
        return received, (DupFd(self.number),)


def received(copy: Any) -> Descriptor:  # noqa: ANN401 - it has no public type
    """Return the duplicated descriptor in the child process."""
    return Descriptor(copy.detach())


def run_apart(
    work: Callable[..., None], *arguments: object, listen: Tell, their_end: int, lock: int
) -> tuple[int, str]:
    """Call `work(*arguments, tell=…)` in a child process; return its exit code and what it printed.

    `listen` receives each value passed to `tell`. The child exits when the pipe with read end `their_end`
    closes, and it inherits the descriptor of a `lock`.
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
    """Start the fork server and its imports with SIGINT blocked."""
    # The fork server and every fork inherit the signal mask.
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
    """Run `work` in the child process, in a session of its own; print any error, then exit with 0 or 1."""
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
    # After a training, a regular exit would make DuckDB's bindings report leaks.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_with_parent(pipe: Descriptor) -> None:
    """Wait until the pipe closes, then exit this process at once; checkpoints remain."""
    os.read(pipe.number, 1)
    os._exit(1)
