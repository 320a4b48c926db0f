"""What a headless run is to make: which datasets, by which steps, and which trainings are left to be done."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from dagster import AssetKey
from pyarrow.parquet import read_metadata

from assets.chain import MADE_TOGETHER
from assets.headless.learning import Training, WaitingTimes
from assets.headless.steps import Step
from assets.lanes.results import RESULTS
from assets.partitions import DAYS_PER_RUN, day_range
from assets.training_config import training_settings
from model.identity import differences, identity, resumable
from model.when.settings import is_learned
from model.when.task import wanted_waits
from pipeline.rem_variants import RemVariant
from pipeline.results.digests import are_results_current, digest_inputs
from pipeline.results.trained import (
    CHECKPOINT,
    TrainedVariant,
    current_variants,
    finished,
    present_fingerprint,
    read_facts,
)
from pipeline.settings import SettingError, Settings, given_name
from pipeline.sources.registry import registry
from pipeline.sources.source import DatasetSpec
from pipeline.variants import Variant, models_for

RESULTS_STEP = Step(tuple(AssetKey(name) for name in RESULTS))


def left_out(specs: Sequence[DatasetSpec], settings: Settings) -> dict[str, str]:
    """Datasets that cannot be built, each with its reason; an error for one that was asked for by name."""
    reasons = {spec.name: spec.problem or spec.source.missing(settings) for spec in specs}
    for name, reason in reasons.items():
        if reason is not None and name in settings.datasets:
            raise SettingError(f"{given_name('datasets')} names {name}, but {reason}")
    return {name: reason for name, reason in reasons.items() if reason is not None}


def table_steps(spec: DatasetSpec, settings: Settings) -> Iterator[Step]:
    """The steps that bring a dataset's raw material and make its event table."""
    for raw in spec.source.steps:
        assets = tuple(AssetKey.from_user_string(asset) for asset in raw.assets)
        if not raw.daily:
            yield Step(assets)
            continue
        day, end = spec.source.days(settings)
        while day <= end:
            last = min(day + timedelta(days=DAYS_PER_RUN - 1), end)
            yield Step(assets, tags=day_range(day, last))
            day = last + timedelta(days=1)
    yield Step(tuple(AssetKey([spec.name, step]) for step in MADE_TOGETHER))


def trained_otherwise(spec: DatasetSpec, variant: Variant | RemVariant, settings: Settings) -> list[str]:
    """In what the model that is there differs from the settings; nothing where there is none."""
    expected = identity(
        spec.name, present_fingerprint(settings.lake, spec.name), variant, training_settings(settings)
    )
    facts = read_facts(settings.lake.model(spec.name, variant.key))
    # A new event table is what runs are for, and no news.
    return differences({**facts, "fingerprint": expected["fingerprint"]}, expected) if facts else []


def missing_before(
    spec: DatasetSpec, variant: Variant | RemVariant, settings: Settings
) -> list[Variant | RemVariant]:
    """The variant whose weights this one uses, if it is not trained on the present event table."""
    trained = {one.key for one in current_variants(settings.lake, spec.name)}
    return [one for one in models_for(spec.relations) if one.key == variant.needs and one.key not in trained]


def plan_waiting_times(spec: DatasetSpec, settings: Settings) -> tuple[WaitingTimes, bool]:
    """The waiting times of a dataset, and whether they are learned from the event table as it is now."""
    lake = settings.lake
    waits = WaitingTimes(spec.name, events=count_events(spec, settings))
    return waits, is_learned(lake.waiting_times(spec.name), wanted_waits(lake, spec.name))


def plan_training(
    spec: DatasetSpec, variant: Variant | RemVariant, settings: Settings
) -> Training | TrainedVariant:
    """What is planned of a variant: its training on the event table as it is now, or its finished model."""
    folder = settings.lake.model(spec.name, variant.key)
    fingerprint = present_fingerprint(settings.lake, spec.name)
    chosen_settings = training_settings(settings)
    if facts := finished(folder, identity(spec.name, fingerprint, variant, chosen_settings)):
        return TrainedVariant(folder, spec.name, variant.name, variant.interaction, facts)
    begun = identity(spec.name, fingerprint, variant.trained_like(), chosen_settings)
    return Training(
        spec.name,
        variant,
        events=count_events(spec, settings),
        resumed=resumable(folder / CHECKPOINT, begun),
    )


def count_events(spec: DatasetSpec, settings: Settings) -> int:
    """The events of a dataset's event table."""
    return read_metadata(settings.lake.dataset(spec.name) / "events.parquet").num_rows


def results_inputs(settings: Settings) -> str:
    """Digest what decides the results of a home."""
    return digest_inputs(settings.lake, [spec.name for spec in registry(settings)])


def are_results_unchanged(settings: Settings, inputs: str) -> bool:
    """Tell whether a run can leave the results as they are: nothing they are made from has changed.

    Shared results are always made: another home may have published others meanwhile.
    """
    return not settings.storage and are_results_current(settings.lake, inputs)
