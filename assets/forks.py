"""Processes forked from a fork server with preloaded modules, because imports take longer than a small step.

The preloaded modules must not start compute threads: a fork does not inherit them and would wait for them.
Numerical libraries therefore use one thread, unless a training asks for more.
"""

import multiprocessing
import os
import sys
from multiprocessing import forkserver, resource_tracker
from threading import Lock
from typing import Any

# On other systems libraries do not survive a fork, so each process imports its own modules.
START_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
PROCESSES = multiprocessing.get_context(START_METHOD)
# Modules for training, following and reporting.
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
# The start method of steps in the config of Dagster's executor.
OF_STEPS: dict[str, Any] = (
    {"forkserver": {"preload_modules": PRELOADED}} if START_METHOD == "forkserver" else {"spawn": {}}
)


def begin_imports() -> None:
    """Start the fork server, which preloads the modules, if it is not running; do nothing without one."""
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
    """Make this process fork its children from the fork server that it was forked from itself.

    Otherwise Python starts a second fork server, which imports everything again.
    """
    vars(forkserver._forkserver)["ensure_running"] = resource_tracker.ensure_running
