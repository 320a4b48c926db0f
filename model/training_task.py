"""A training as a task: any process with access to the home can run it, one at a time.

All seeds of a variant train in one task, because they share the cost of each event. Imports no torch: a
caller that only submits a training needs none.
"""

from typing import Any

from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from pipeline.cluster.task import Log, Task
from pipeline.lake import Lake, sweep
from pipeline.locks import hold
from pipeline.rem_variants import RemVariant
from pipeline.storage.things import event_table, trained_model
from pipeline.variants import Variant

# Seconds to wait for the lock: an abandoned training holds it until it next reports its progress.
LONGEST_WAIT = 600.0


def training_task(
    dataset: str,
    variant: Variant | RemVariant,
    settings: TrainingSettings | RemSettings,
    threads: int,
    work: str,
) -> Task[dict[str, Any]]:
    """Return the task of training `variant` on a dataset; `work` describes the holder of its lock."""
    return Task(
        f"{dataset} {variant.key}",
        train_alone,
        (dataset, variant, settings, threads, work),
        needs=(event_table(dataset), *(trained_model(dataset, key) for key in (variant.needs,) if key)),
        makes=(trained_model(dataset, variant.key),),
    )


def train_alone(
    lake: Lake,
    dataset: str,
    variant: Variant | RemVariant,
    settings: TrainingSettings | RemSettings,
    threads: int,
    work: str,
    log: Log | None,
) -> dict[str, Any]:
    """Train a variant under its lock and return model.json; a mismatched checkpoint is discarded."""
    from model.checkpoint import CheckpointError
    from model.training import train

    table, folder = lake.dataset(dataset), lake.model(dataset, variant.key)
    happening = f"{variant.key} is being trained on {dataset}"
    with hold(lake.lock("trainings", dataset, variant.key), happening, work, LONGEST_WAIT, log):
        sweep(folder)
        try:
            return train(table, variant, settings, folder, log, threads=threads)
        except CheckpointError as refused:
            if log is not None:
                log(f"{refused} Training starts over.")
            return train(table, variant, settings, folder, log, start_over=True, threads=threads)
