"""`python -m model.when TABLE FOLDER`: learn the waiting times of an event table.

Without arguments it only compiles the pass over waits, so that later processes load it from numba's cache.
"""

import sys
from pathlib import Path

import numpy as np

from model.when.memory import remember_waits
from pipeline.results.waits import waits_between


def main(arguments: list[str]) -> None:
    """Learn the waiting times of an event table, or compile the pass on a few synthetic waits."""
    if arguments:
        from model.when.training import learn_waiting_times

        table, folder = map(Path, arguments)
        learn_waiting_times(table, folder, log=print)
        return
    waits = waits_between(np.array([0, 1, 0, 1]), np.arange(4.0), 4.0)
    remember_waits(
        waits, waits.node[::-1].copy(), np.array([0, 1, 0, 1]), 2, 2, np.array([0.0, 1.0, 60.0]), 0.0
    )


if __name__ == "__main__":
    main(sys.argv[1:])
