"""The launcher's lock of a home, held until the last training that it started has exited."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from pipeline.locks import hold
from pipeline.settings import Settings

LONGEST_WAIT = 60.0  # seconds, for trainings of a killed launcher to exit


def alone(settings: Settings, log: Callable[[str], None]) -> AbstractContextManager[int]:
    """Hold this home's lock; yield its file descriptor, for trainings to inherit.

    Wait up to `LONGEST_WAIT` for trainings of a killed launcher to exit, then raise LockedError.
    """
    path = settings.home / "dagster" / "headless.lock"
    return hold(path, f"{settings.home} is being worked on", "python -m assets", LONGEST_WAIT, log)
