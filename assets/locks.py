"""Who makes what: a run of the UI and a headless one take the same locks, so that neither disturbs the other.

What is made within minutes is waited for. A training may take hours: another of the same variant fails at
once, with a line that names the first. Slots bound how much a home does side by side, whoever started it.

Where homes share a storage, whoever holds a lock works on the newest state that any of them has published,
and publishes what it made.
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
LONGEST_WAIT = 3600.0  # seconds, for a table: it is made within minutes


@contextmanager
def table_locked(context: Context, lake: Lake, dataset: str, *beside: Thing) -> Generator[None]:
    """Hold the lock of all that is in a dataset's folder, and of what is shared `beside` its table."""
    things = (event_table(dataset), *beside)
    with _waited_for(context, lake, "datasets", dataset), shared(lake, *things, log=context.log.info):
        yield


@contextmanager
def model_locked(context: Context, lake: Lake, dataset: str, variant: str) -> Generator[None]:
    """Hold the lock of a trained variant's folder; an error at once if another process trains it."""
    if lake.storage:
        with _waited_for(context, lake, "datasets", dataset):
            bring_things(lake, event_table(dataset), log=context.log.info)
    # Waiting times are locked like a variant: who learns them keeps a processor as busy.
    learned = learned_waiting_times(dataset) if variant == WAITING_TIMES else trained_model(dataset, variant)
    happening = f"{variant} is being trained on {dataset}"
    with (
        hold(lake.lock("models", dataset, variant), happening, run_name(context)),
        shared(lake, learned, log=context.log.info),
    ):
        yield


def training_slot(context: Context, settings: Settings) -> AbstractContextManager[object]:
    """Hold one of the home's slots for trainings, LDG_TRAININGS of them; a cluster has its workers."""
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
    """Tell who waits for a lock: in the log of a run, and in a terminal."""
    context.log.info(line)
    if is_headless(context):
        print(line, file=sys.stderr)  # noqa: T201 - nobody watches the log of a headless run


def is_headless(context: Context) -> bool:
    """Whether the run is one of the launcher's."""
    return HEADLESS.items() <= context.run.tags.items()


def run_name(context: Context) -> str:
    """A run by its number as the UI abbreviates it, and whether the launcher started it."""
    return f"{'headless' if is_headless(context) else 'Dagster'} run {context.run.run_id[:8]}"
