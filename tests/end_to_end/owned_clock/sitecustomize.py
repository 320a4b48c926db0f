"""A clock that a test owns: a process with this folder on its path takes the time from the file OWNED_CLOCK.

Dagster has a place for tests to put a clock in (`dagster._time`), and so has the project (`pipeline.clock`).
"""

import os
import sys
from datetime import datetime
from pathlib import Path

FILE = Path(os.environ["OWNED_CLOCK"])
# What looks after the logs of a step, or after what forks share, asks for no time, and importing takes some.
NEED_NONE = ("watch_orphans", "resource_tracker")


def moment() -> datetime:
    """What the clock says."""
    return datetime.fromisoformat(FILE.read_text())


if not any(name in argument for name in NEED_NONE for argument in sys.orig_argv):
    import dagster._time

    from pipeline import clock

    vars(clock)["now"] = moment
    vars(dagster._time)["_mockable_get_current_datetime"] = moment
    vars(dagster._time)["_mockable_get_current_timestamp"] = lambda: moment().timestamp()
