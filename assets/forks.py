"""Processes forked from one that has imported what they need: importing alone takes longer than a small
piece of work does.

What it imports must start no thread that computes: a fork has none of them, and would wait for it. Libraries
that compute have one thread then, unless a training asks for more.
"""

import multiprocessing
import os
import sys
from multiprocessing import forkserver, resource_tracker
from threading import Lock
from typing import Any

# Elsewhere libraries do not survive a fork: each process imports for itself.
START_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
PROCESSES = multiprocessing.get_context(START_METHOD)
# Modules of all that trains, follows and reports.
PRELOADED = [
    "assets.headless.one_step",
    "assets.system",
    "model.following.day",
    "model.rem.training",
    "model.training",
    "model.when.training",
    "pipeline.show.report",
]
ONE_THREAD = "OMP_NUM_THREADS"
BEGINNING = Lock()  # a server starts runs from several threads
# How Dagster's executor starts the processes of steps.
OF_STEPS: dict[str, Any] = (
    {"forkserver": {"preload_modules": PRELOADED}} if START_METHOD == "forkserver" else {"spawn": {}}
)


def begin_imports() -> None:
    """Let the imports begin, if they have not: they are done when the first process is wanted."""
    if START_METHOD != "forkserver":
        return
    with BEGINNING:
        PROCESSES.set_forkserver_preload(PRELOADED)
        threads = os.environ.get(ONE_THREAD)
        os.environ[ONE_THREAD] = "1"
        try:
            forkserver.ensure_running()
        finally:
            if threads is None:
                del os.environ[ONE_THREAD]
            else:
                os.environ[ONE_THREAD] = threads


def fork_from_the_same() -> None:
    """Have what this process forks come from the process that it was forked from itself.

    Python means a fork to do so, but starts another process to fork from, which imports everything again.
    """
    vars(forkserver._forkserver)["ensure_running"] = resource_tracker.ensure_running
