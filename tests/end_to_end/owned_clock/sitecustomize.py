"""A clock that a test owns: a process with this folder on its path takes the time from the file OWNED_CLOCK.

Dagster has a place for tests to put a clock in (`dagster._time`), and so has the project (`pipeline.clock`).
"""

import os
import sys
from datetime import datetime
from pathlib import Path

FILE = Path(os.environ["OWNED_CLOCK"])
# Dagster starts two for each step, to look after its logs: they ask for no time, and importing takes some.
NEEDS_NONE = "watch_orphans"


def moment() -> datetime:
    """What the clock says."""
    return datetime.fromisoformat(FILE.read_text())


if not any(NEEDS_NONE in argument for argument in sys.orig_argv):
    import dagster._time

    from pipeline import clock

    vars(clock)["now"] = moment
    vars(dagster._time)["_mockable_get_current_datetime"] = moment
    vars(dagster._time)["_mockable_get_current_timestamp"] = lambda: moment().timestamp()
