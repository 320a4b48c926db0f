"""Processes of tests, forked from one that has imported what they run: that takes longer than their work.

What it imports must not use polars on the way: a fork has none of the threads that polars then waits for.
It is one process for each worker of the tests, so those who fork are one group: `FORKING`.
"""

import multiprocessing

import pytest

from assets.headless.apart import IMPORTED

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [*IMPORTED, "assets.store", "model.following.day", "pipeline.sources.gharchive.day", "pytest"]
)
FORKING = pytest.mark.xdist_group("forks")
