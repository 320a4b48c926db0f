"""Table `trainings`: every finished training of a home, from its `model.json`."""

import json
from datetime import datetime

import polars as pl

from pipeline.event_table import dataset_names
from pipeline.following.record import training_rows
from pipeline.lake import Lake
from pipeline.results.trained import TrainedVariant, present_fingerprint, trained_variants
from pipeline.schemas import TRAININGS


def trainings(lake: Lake) -> pl.DataFrame:
    """Return one row per finished training, by dataset and variant, including those on earlier event tables.

    Trainings of a followed archive, which are updated daily, come last.
    """
    rows = [
        training_row(training, present_fingerprint(lake, dataset), lake)
        for dataset in dataset_names(lake)
        for training in trained_variants(lake, dataset)
    ]
    return pl.concat([pl.DataFrame(rows, schema=TRAININGS.types), training_rows(lake)])


def training_row(training: TrainedVariant, present: str, lake: Lake) -> dict[str, object]:
    """Return a training as a row; `present` is the fingerprint of its dataset's present event table."""
    facts = training.facts
    finished_at = facts.get("finished_at")
    return {
        "dataset": training.dataset,
        "variant": training.variant,
        "interaction": training.interaction,
        "current": training.fingerprint == present,
        "seeds": facts["seeds"],
        "chosen_epochs": [facts["chosen_epoch"][str(seed)] for seed in facts["seeds"]],
        "stopped_seeds": [int(seed) for seed in facts["stopped"]],
        "parameters": facts["parameters"],
        "settings": json.dumps(facts["settings"]),
        "seconds": facts["training_seconds"],
        "commit": facts.get("commit"),
        "finished_at": datetime.fromisoformat(finished_at) if finished_at else None,
        "fingerprint": training.fingerprint,
        "folder": training.folder.relative_to(lake.home).as_posix(),
    }
