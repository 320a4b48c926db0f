"""What a headless run is to make: which datasets, by which steps, and which trainings are left to be done."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from dagster import AssetKey
from pyarrow.parquet import read_metadata

from assets.headless.side_by_side import Training
from assets.headless.steps import Step
from assets.lanes.results import RESULTS
from assets.partitions import DAYS_A_RUN
from assets.rules import training_settings
from model.identity import finished, identity, resumable
from pipeline.settings import Settings
from pipeline.sources.registry import DatasetSpec
from pipeline.variants import Variant

RESULTS_STEP = Step(tuple(AssetKey(name) for name in RESULTS))


@dataclass(frozen=True)
class FinishedModel:
    """A model that an earlier run trained to its end, with what its `model.json` says."""

    dataset: str
    variant: Variant
    folder: Path
    summary: dict[str, Any]


def sourced(specs: Sequence[DatasetSpec], settings: Settings) -> list[DatasetSpec]:
    """`specs`, without Social Evolution if it has no source: an error if it was asked for by name."""
    if settings.social_evolution:
        return list(specs)
    if "social_evolution" in settings.datasets:
        raise ValueError("LDG_DATASETS names social_evolution, but LDG_SOCIAL_EVOLUTION names no source")
    return [spec for spec in specs if spec.source != "social_evolution"]


def table_steps(spec: DatasetSpec, settings: Settings) -> Iterator[Step]:
    """The steps that bring a dataset's raw material and make its event table."""
    if spec.source == "github":
        day = settings.github_history
        while day <= settings.github_end:
            last = min(day + timedelta(days=DAYS_A_RUN - 1), settings.github_end)
            yield Step((AssetKey("gharchive_files"), AssetKey("github_events")), tags=day_range(day, last))
            day = last + timedelta(days=1)
        yield Step((AssetKey(["github", "subnetwork"]),))
    if spec.source == "social_evolution":
        yield Step((AssetKey("social_evolution_files"),))
    yield Step(tuple(AssetKey([spec.name, step]) for step in ("event_table", "no_learn_baselines")))


def day_range(first: date, last: date) -> dict[str, str]:
    """Tags that let one run cover the file days from `first` to `last`."""
    return {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }


def plan_training(spec: DatasetSpec, variant: Variant, settings: Settings) -> Training | FinishedModel:
    """The training of a variant on the event table as it is now, or the model if that is finished."""
    table, folder = settings.lake.dataset(spec.name), settings.lake.model(spec.name, variant.key)
    fingerprint = json.loads((table / "dataset.json").read_text(encoding="utf-8"))["fingerprint"]
    asked = training_settings(settings)
    if summary := finished(folder, identity(spec.name, fingerprint, variant, asked)):
        return FinishedModel(spec.name, variant, folder, summary)
    begun = identity(spec.name, fingerprint, variant.trained_like(), asked)
    return Training(
        spec.name,
        variant,
        events=read_metadata(table / "events.parquet").num_rows,
        resumed=resumable(folder / "checkpoint.safetensors", begun),
    )
