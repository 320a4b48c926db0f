"""Processes of tests, forked from one that has imported what they run: that takes longer than their work.

What it imports must not use polars on the way: a fork has none of the threads that polars then waits for.
"""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from multiprocessing import resource_tracker, util
from pathlib import Path
from subprocess import TimeoutExpired
from typing import NoReturn

import pytest

from assets.cli import main
from assets.forks import PRELOADED
from assets.headless.apart import Descriptor, prepare

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *PRELOADED,
        "assets.headless.run",
        "assets.store",
        "pipeline.sources.gharchive.day",
        "pytest",
        "sklearn.manifold",
    ]
)
# Each worker of the tests starts one of its own: of those who need it and little else, one worker runs all.
FORKING = pytest.mark.xdist_group("forks")
ROOT = Path(__file__).parents[1]


class Ldg:
    """A forked `python -m assets`, with as much of `subprocess.Popen` as tests ask for.

    Its output and errors go to one pipe, or to a file.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        interrupts: signal.Handlers = signal.SIG_DFL,
        output: Path | None = None,
        folder: Path = ROOT,
    ) -> None:
        self.stdout = None
        if output is None:
            readable, writable = os.pipe()
            self.stdout = os.fdopen(readable, encoding="utf-8", errors="replace")
        else:
            writable = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.process = FORKS.Process(
            target=become_ldg,
            args=(list(arguments), dict(environment), interrupts, Descriptor(writable), folder),
        )
        self.process.start()
        os.close(writable)

    @property
    def pid(self) -> int:
        """Number of the process."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, or None."""
        return self.process.exitcode

    def poll(self) -> int | None:
        """How it ended, or None."""
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutExpired("ldg", timeout or 0)
        return self.process.exitcode

    def communicate(self, timeout: float) -> tuple[str, None]:
        """What it printed until its end."""
        deadline = time.monotonic() + timeout
        printed = self.stdout.read() if self.stdout is not None else ""
        self.wait(max(deadline - time.monotonic(), 1))
        return printed, None


def become_ldg(
    arguments: list[str],
    environment: dict[str, str],
    interrupts: signal.Handlers,
    output: Descriptor,
    folder: Path,
) -> NoReturn:
    """Go on as `python -m assets` in a folder.

    What it does about SIGINT at first is never inherited from the tests: a shell may have started them in the
    background, where SIGINT is ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler if interrupts == signal.SIG_DFL else interrupts)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output.number, stream.fileno())
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    fork_what_it_forks_from()
    main(arguments or ["run"], program="python -m assets")


def fork_what_it_forks_from() -> None:
    """Let this process, while it has no threads yet, fork the one that its trainings will be forked from.

    That would be a new Python otherwise, which imports once more what this one has imported. It is the same
    in all else: it has the environment of now, and of this process's files only those it is given.
    """
    resource_tracker.ensure_running()
    vars(util)["spawnv_passfds"] = fork_instead
    prepare()


def fork_instead(_executable: str, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
    """Run `python -c …` in a fork, whose number is returned."""
    number = os.fork()
    if number:
        return number
    try:
        open_files = sorted({0, 1, 2, *descriptors})
        for low, high in pairwise([*open_files, os.sysconf("SC_OPEN_MAX")]):
            os.closerange(low + 1, high)
        exec(arguments[-1])
    finally:
        os._exit(0)
