"""Locks and training slots, taken by runs of the UI and headless runs alike so that they do not interfere.

A run waits for the lock of a table, which is built within minutes. A training may take hours: a second one of
the same variant fails at once and names the first. Slots limit the concurrent trainings of a home.

Where homes share a storage, the holder of a lock downloads the newest state and publishes its result.
"""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from dagster import AssetExecutionContext, OpExecutionContext

from assets.chain import WAITING_TIMES
from assets.headless.instance import HEADLESS
from pipeline.lake import Lake
from pipeline.locks import LONGEST_WAIT_FOR_A_SLOT, hold, hold_one_of
from pipeline.settings import Settings
from pipeline.storage.share import bring_things, shared
from pipeline.storage.things import Thing, event_table, learned_waiting_times, trained_model

Context = AssetExecutionContext | OpExecutionContext
LONGEST_WAIT = 3600.0  # seconds, for the lock of a table


@contextmanager
def table_locked(context: Context, lake: Lake, dataset: str, *beside: Thing) -> Generator[None]:
    """Hold the lock of a dataset's folder; share its event table and the things `beside` it."""
    things = (event_table(dataset), *beside)
    with _waited_for(context, lake, "datasets", dataset), shared(lake, *things, log=context.log.info):
        yield


@contextmanager
def model_locked(context: Context, lake: Lake, dataset: str, variant: str) -> Generator[None]:
    """Hold the lock of a trained variant's folder; raise LockedError at once if another has it."""
    if lake.storage:
        with _waited_for(context, lake, "datasets", dataset):
            bring_things(lake, event_table(dataset), log=context.log.info)
    # Waiting times are locked like a variant, because learning them keeps a processor as busy.
    learned = learned_waiting_times(dataset) if variant == WAITING_TIMES else trained_model(dataset, variant)
    happening = f"{variant} is being trained on {dataset}"
    with (
        hold(lake.lock("models", dataset, variant), happening, run_name(context)),
        shared(lake, learned, log=context.log.info),
    ):
        yield


def training_slot(context: Context, settings: Settings) -> AbstractContextManager[object]:
    """Hold one of the home's LDG_TRAININGS training slots; none on a cluster, which has its workers."""
    if settings.cluster:
        return nullcontext()
    count = settings.trainings
    slots = [settings.lake.lock("slots", "training", str(number)) for number in range(count)]
    happening = f"every slot for training ({count}) is taken"
    tell = partial(_tell, context)
    return hold_one_of(slots, happening, run_name(context), LONGEST_WAIT_FOR_A_SLOT, tell)


def _waited_for(context: Context, lake: Lake, kind: str, name: str) -> AbstractContextManager[object]:
    happening = f"{name} is being made"
    return hold(lake.lock(kind, name), happening, run_name(context), LONGEST_WAIT, partial(_tell, context))


def _tell(context: Context, line: str) -> None:
    """Write a line about a wait to the run's log and, in a headless run, to standard error."""
    context.log.info(line)
    if is_headless(context):
        print(line, file=sys.stderr)  # noqa: T201 - a headless run's log is not shown


def is_headless(context: Context) -> bool:
    """Return True for a headless run, that is one not started by the UI or the daemon."""
    return HEADLESS.items() <= context.run.tags.items()


def run_name(context: Context) -> str:
    """Return a run's name: `headless` or `Dagster`, and its id as the UI abbreviates it."""
    return f"{'headless' if is_headless(context) else 'Dagster'} run {context.run.run_id[:8]}"
