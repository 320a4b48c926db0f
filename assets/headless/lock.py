"""The lock of a home: one launcher at a time, until the last training that it started is gone."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from pipeline.locks import hold
from pipeline.settings import Settings

LONGEST_WAIT = 60.0  # seconds, for trainings of a killed launcher: they end within moments


def alone(settings: Settings, log: Callable[[str], None]) -> AbstractContextManager[int]:
    """Hold this home's lock; yields its file descriptor, for trainings to inherit.

    Trainings of a killed launcher may take a moment to notice, so this waits for a while before it gives up.
    """
    path = settings.home / "dagster" / "headless.lock"
    return hold(path, f"{settings.home} is being worked on", "python -m assets", LONGEST_WAIT, log)
