"""Who makes what: a run of the UI and a headless one take the same locks, so that neither disturbs the other.

What is made within minutes is waited for. A training may take hours: another of the same variant fails at
once, with a line that names the first.
"""

import sys
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import date

from dagster import AssetExecutionContext

from assets.headless.instance import HEADLESS
from pipeline.lake import Lake
from pipeline.locks import hold

LONGEST_WAIT = 3600.0  # seconds, for a day or a table: either is made within minutes


def day_locked(context: AssetExecutionContext, lake: Lake, day: date) -> AbstractContextManager[object]:
    """Hold the lock of a day of the archive."""
    return _waited_for(context, lake, "days", day.isoformat())


@contextmanager
def days_locked(context: AssetExecutionContext, lake: Lake, days: Iterable[date]) -> Generator[None]:
    """Hold the locks of `days` of the archive, the earliest first: then no two runs wait for each other."""
    with ExitStack() as locks:
        for day in sorted(days):
            locks.enter_context(day_locked(context, lake, day))
        yield


def table_locked(context: AssetExecutionContext, lake: Lake, dataset: str) -> AbstractContextManager[object]:
    """Hold the lock of all that is in a dataset's folder, and of what its table alone is made from."""
    return _waited_for(context, lake, "datasets", dataset)


def model_locked(
    context: AssetExecutionContext, lake: Lake, dataset: str, variant: str
) -> AbstractContextManager[object]:
    """Hold the lock of a trained variant's folder; an error at once if another process trains it."""
    happening = f"{variant} is being trained on {dataset}"
    return hold(lake.lock("models", dataset, variant), happening, run_name(context))


def _waited_for(
    context: AssetExecutionContext, lake: Lake, kind: str, name: str
) -> AbstractContextManager[object]:
    def log(line: str) -> None:
        context.log.info(line)
        if is_headless(context):
            print(line, file=sys.stderr)  # noqa: T201 - nobody watches the log of a headless run

    return hold(lake.lock(kind, name), f"{name} is being made", run_name(context), LONGEST_WAIT, log)


def is_headless(context: AssetExecutionContext) -> bool:
    """Whether the run is one of the launcher's."""
    return HEADLESS.items() <= context.run.tags.items()


def run_name(context: AssetExecutionContext) -> str:
    """A run by its number as the UI abbreviates it, and whether the launcher started it."""
    return f"{'headless' if is_headless(context) else 'Dagster'} run {context.run.run_id[:8]}"
