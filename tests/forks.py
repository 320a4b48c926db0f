"""Processes of tests, forked from one that has imported what they run: that takes longer than their work.

What it imports must not use polars on the way: a fork has none of the threads that polars then waits for.
"""

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["assets.store", "model.following.day", "model.training", "pipeline.sources.gharchive.day", "pytest"]
)
