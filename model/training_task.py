"""A training as a task: any process that sees the home can do it, and one at a time does.

All seeds of a variant learn in one task, because seeds side by side share what an event costs. Imports no
torch: a caller that only asks for a training needs none.
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

# Seconds, for a training that nobody waits for any more: it ends when it next tells how far it is.
LONGEST_WAIT = 600.0


def training_task(
    dataset: str,
    variant: Variant | RemVariant,
    settings: TrainingSettings | RemSettings,
    threads: int,
    work: str,
) -> Task[dict[str, Any]]:
    """The task of training `variant` on a dataset; `work` is what others read in its lock."""
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
    """Train a variant under its lock and return model.json; a checkpoint that does not fit is discarded."""
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
