"""The plan of a headless run: datasets, their steps, and the trainings still to be done."""

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
    """Return datasets that cannot be built, with reasons; raise SettingError if the settings name one."""
    reasons = {spec.name: spec.problem or spec.source.missing(settings) for spec in specs}
    for name, reason in reasons.items():
        if reason is not None and name in settings.datasets:
            raise SettingError(f"{given_name('datasets')} names {name}, but {reason}")
    return {name: reason for name, reason in reasons.items() if reason is not None}


def table_steps(spec: DatasetSpec, settings: Settings) -> Iterator[Step]:
    """Yield the steps that fetch a dataset's raw files and build its event table."""
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
    """Return how the stored model's identity differs from the settings; empty without a model."""
    expected = identity(
        spec.name, present_fingerprint(settings.lake, spec.name), variant, training_settings(settings)
    )
    facts = read_facts(settings.lake.model(spec.name, variant.key))
    # A changed event table is normal and not reported.
    return differences({**facts, "fingerprint": expected["fingerprint"]}, expected) if facts else []


def missing_before(
    spec: DatasetSpec, variant: Variant | RemVariant, settings: Settings
) -> list[Variant | RemVariant]:
    """List the variant whose weights this one uses, if it is not trained on the current event table."""
    trained = {one.key for one in current_variants(settings.lake, spec.name)}
    return [one for one in models_for(spec.relations) if one.key == variant.needs and one.key not in trained]


def plan_waiting_times(spec: DatasetSpec, settings: Settings) -> tuple[WaitingTimes, bool]:
    """Return a dataset's waiting times, and True if they are learned from the current event table."""
    lake = settings.lake
    waits = WaitingTimes(spec.name, events=count_events(spec, settings))
    return waits, is_learned(lake.waiting_times(spec.name), wanted_waits(lake, spec.name))


def plan_training(
    spec: DatasetSpec, variant: Variant | RemVariant, settings: Settings
) -> Training | TrainedVariant:
    """Return a variant's finished model on the current event table, or else its training."""
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
    """Return the number of events in a dataset's event table."""
    return read_metadata(settings.lake.dataset(spec.name) / "events.parquet").num_rows


def results_inputs(settings: Settings) -> str:
    """Return a digest of all inputs of a home's results."""
    return digest_inputs(settings.lake, [spec.name for spec in registry(settings)])


def are_results_unchanged(settings: Settings, inputs: str) -> bool:
    """Return True if no input of the results has changed, so that a run can skip them.

    It is always False with a shared storage, to which another home may have published results.
    """
    return not settings.storage and are_results_current(settings.lake, inputs)
