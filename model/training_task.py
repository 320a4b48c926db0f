"""A training as tasks: any process that sees the home can do one, and one at a time does.

A training is one task, since seeds that learn side by side share what an event costs. Where a cluster has
more workers than trainings, its seeds may learn in several; then they are joined, and one task goes on from
there. Imports no torch: whoever only asks for a training needs none.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow.parquet as pq

from model.identity import TrainingSettings, identity
from model.large.rule import is_large
from model.rem.settings import RemSettings
from pipeline.cluster.run import run_task, run_tasks
from pipeline.cluster.task import Log, Task
from pipeline.lake import Lake, sweep
from pipeline.locks import hold
from pipeline.rem_variants import RemVariant
from pipeline.results.trained import CHECKPOINT, finished, present_fingerprint
from pipeline.storage.things import event_table, trained_model
from pipeline.variants import Variant

# Seconds, for a training that nobody waits for any more: it ends when it next tells how far it is.
LONGEST_WAIT = 600.0


def tasks_of_each(workers: int, trainings: int) -> int:
    """Into how many tasks each of so many trainings is cut: as many as there are workers for."""
    return max(1, workers // max(trainings, 1))


def seeds_by_task(seeds: Sequence[int], tasks: int) -> list[tuple[int, ...]]:
    """The seeds of each of so many tasks at most, in their order, as equal as they can be."""
    ends = [len(seeds) * number // tasks for number in range(tasks + 1)]
    return [tuple(seeds[start:end]) for start, end in pairwise(ends) if end > start]


def run_training(
    lake: Lake,
    dataset: str,
    variant: Variant | RemVariant,
    settings: TrainingSettings | RemSettings,
    *,
    threads: int,
    work: str,
    cluster: str = "",
    tasks: int = 1,
    log: Log | None = None,
) -> dict[str, Any]:
    """Train `variant` here or on a cluster, there with its seeds in so many `tasks`; return model.json."""
    # Groups leave checkpoints, which homes that share a storage do not share.
    groups = seeds_by_task(settings.seeds, tasks if cluster and not lake.storage else 1)
    if (
        len(groups) > 1
        and isinstance(variant, Variant)
        and isinstance(settings, TrainingSettings)
        and may_be_cut(lake, dataset, variant, settings)
    ):
        learning = [
            Task(
                f"{dataset} {variant.key}, seeds {seeds[0]} to {seeds[-1]}",
                learn_alone,
                (dataset, variant, replace(settings, seeds=seeds), threads, work),
            )
            for seeds in groups
        ]
        if all(learned for _, learned in run_tasks(learning, lake, cluster, log)):
            joining = Task(
                f"{dataset} {variant.key}, joined", join_alone, (dataset, variant, settings, groups, work)
            )
            run_task(joining, lake, cluster, log)
    return run_task(training_task(dataset, variant, settings, threads, work), lake, cluster, log)


def may_be_cut(lake: Lake, dataset: str, variant: Variant, settings: TrainingSettings) -> bool:
    """Whether seeds may learn apart: in a network that is not large, if nothing of them is learned yet."""
    folder = lake.model(dataset, variant.key)
    wanted = identity(dataset, present_fingerprint(lake, dataset), variant, settings)
    is_begun = (folder / CHECKPOINT).exists() or finished(folder, wanted) is not None
    nodes = pq.read_metadata(lake.dataset(dataset) / "nodes.parquet").num_rows
    return not (is_begun or variant.frequency or is_large(nodes))


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
    from model.seed_groups import group_checkpoints
    from model.training import train

    table, folder = lake.dataset(dataset), lake.model(dataset, variant.key)
    happening = f"{variant.key} is being trained on {dataset}"
    with hold(lake.lock("trainings", dataset, variant.key), happening, work, LONGEST_WAIT, log):
        sweep(folder)
        try:
            facts = train(table, variant, settings, folder, log, threads=threads)
        except CheckpointError as refused:
            if log is not None:
                log(f"{refused} Training starts over.")
            facts = train(table, variant, settings, folder, log, start_over=True, threads=threads)
        for path in group_checkpoints(folder):
            path.unlink(missing_ok=True)
        return facts


def learn_alone(
    lake: Lake,
    dataset: str,
    variant: Variant,
    settings: TrainingSettings,
    threads: int,
    work: str,
    log: Log | None,
) -> bool:
    """Let a group of seeds learn under its lock; False if it has no end, since they all stopped."""
    from model.checkpoint import CheckpointError, discard
    from model.seed_groups import group_checkpoint, learn_group

    table, folder = lake.dataset(dataset), lake.model(dataset, variant.key)
    path = group_checkpoint(folder, settings.seeds)
    happening = f"{variant.key} is being trained on {dataset}"
    with hold(
        lake.lock("trainings", dataset, f"{variant.key} {path.stem}"), happening, work, LONGEST_WAIT, log
    ):
        try:
            return learn_group(table, variant, settings, folder, log, threads)
        except CheckpointError as refused:
            if log is not None:
                log(f"{refused} The group starts over.")
            discard(path)
            return learn_group(table, variant, settings, folder, log, threads)


def join_alone(
    lake: Lake,
    dataset: str,
    variant: Variant,
    settings: TrainingSettings,
    groups: Sequence[tuple[int, ...]],
    work: str,
    log: Log | None,
) -> None:
    """Make the checkpoint of a training from those of its groups, under the training's lock."""
    from model.seed_groups import join_groups

    happening = f"{variant.key} is being trained on {dataset}"
    with hold(lake.lock("trainings", dataset, variant.key), happening, work, LONGEST_WAIT, log):
        join_groups(lake.dataset(dataset), variant, settings, groups, lake.model(dataset, variant.key))
