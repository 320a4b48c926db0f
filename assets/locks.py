"""Who makes what: a run of the UI and a headless one take the same locks, so that neither disturbs the other.

What is made within minutes is waited for. A training may take hours: another of the same variant fails at
once, with a line that names the first. Slots bound how much a home does side by side, whoever started it.
"""

import sys
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import date
from functools import partial

from dagster import AssetExecutionContext, OpExecutionContext

from assets.headless.instance import HEADLESS
from pipeline.lake import Lake
from pipeline.locks import hold, hold_one_of
from pipeline.progress import announce
from pipeline.settings import Settings

Context = AssetExecutionContext | OpExecutionContext
LONGEST_WAIT = 3600.0  # seconds, for a day or a table: either is made within minutes
LONGEST_WAIT_FOR_A_SLOT = 24 * 3600.0
FETCHING_SLOTS = 2  # each fetches over four connections: more is no kindness to the archive


def day_locked(context: Context, lake: Lake, day: date) -> AbstractContextManager[object]:
    """Hold the lock of a day of the archive."""
    return _waited_for(context, lake, "days", day.isoformat())


@contextmanager
def days_locked(context: Context, lake: Lake, days: Iterable[date]) -> Generator[None]:
    """Hold the locks of `days` of the archive, the earliest first: then no two runs wait for each other."""
    with ExitStack() as locks:
        for day in sorted(days):
            locks.enter_context(day_locked(context, lake, day))
        yield


def table_locked(context: Context, lake: Lake, dataset: str) -> AbstractContextManager[object]:
    """Hold the lock of all that is in a dataset's folder, and of what its table alone is made from."""
    return _waited_for(context, lake, "datasets", dataset)


def model_locked(context: Context, lake: Lake, dataset: str, variant: str) -> AbstractContextManager[object]:
    """Hold the lock of a trained variant's folder; an error at once if another process trains it."""
    happening = f"{variant} is being trained on {dataset}"
    return hold(lake.lock("models", dataset, variant), happening, run_name(context))


def training_slot(context: Context, settings: Settings) -> AbstractContextManager[object]:
    """Hold one of the home's slots for trainings, LDG_TRAININGS of them."""
    return _slot(context, settings.lake, "training", settings.trainings)


def fetching_slot(context: Context, lake: Lake) -> AbstractContextManager[object]:
    """Hold one of the home's slots for fetching from the archive."""
    return _slot(context, lake, "gharchive", FETCHING_SLOTS)


@contextmanager
def _slot(context: Context, lake: Lake, kind: str, count: int) -> Generator[None]:
    slots = [lake.lock("slots", kind, str(number)) for number in range(count)]
    happening = f"every slot for {kind} ({count}) is taken"
    waits: list[str] = []

    def tell(line: str) -> None:
        waits.append(line)
        announce(line)
        _tell(context, line)

    with hold_one_of(slots, happening, run_name(context), LONGEST_WAIT_FOR_A_SLOT, tell):
        for line in waits:
            announce(line, ended=True)
        yield


def _waited_for(context: Context, lake: Lake, kind: str, name: str) -> AbstractContextManager[object]:
    happening = f"{name} is being made"
    return hold(lake.lock(kind, name), happening, run_name(context), LONGEST_WAIT, partial(_tell, context))


def _tell(context: Context, line: str) -> None:
    context.log.info(line)
    if is_headless(context):
        print(line, file=sys.stderr)  # noqa: T201 - nobody watches the log of a headless run


def is_headless(context: Context) -> bool:
    """Whether the run is one of the launcher's."""
    return HEADLESS.items() <= context.run.tags.items()


def run_name(context: Context) -> str:
    """A run by its number as the UI abbreviates it, and whether the launcher started it."""
    return f"{'headless' if is_headless(context) else 'Dagster'} run {context.run.run_id[:8]}"
