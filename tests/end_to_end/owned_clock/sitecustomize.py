"""A clock that a test owns: a process with this folder on its path takes the time from the file OWNED_CLOCK.

Dagster has a place for tests to put a clock in (`dagster._time`), and so has the project (`pipeline.clock`).
"""

import os
from datetime import datetime
from pathlib import Path

import dagster._time

from pipeline import clock

FILE = Path(os.environ["OWNED_CLOCK"])


def moment() -> datetime:
    """What the clock says."""
    return datetime.fromisoformat(FILE.read_text())


vars(clock)["now"] = moment
vars(dagster._time)["_mockable_get_current_datetime"] = moment
vars(dagster._time)["_mockable_get_current_timestamp"] = lambda: moment().timestamp()
