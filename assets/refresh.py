"""After a day that the schedule brought: what was made before and depends on it, in order, in one run."""

from collections.abc import Sequence

from dagster import (
    AssetKey,
    AssetSelection,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    RunsFilter,
    SensorEvaluationContext,
    SkipReason,
    define_asset_job,
    in_process_executor,
    sensor,
)
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from assets.chain import MADE_TOGETHER, RENEWED_MODELS, TRAINED_MODELS, WAITING_TIMES
from assets.lanes.results import RESULTS
from pipeline.settings import Settings
from pipeline.sources.registry import SOURCES
from pipeline.sources.source import DatasetSpec, Source

REFRESH_TAG = {"ldg/refresh": "yes"}  # of the runs with which a schedule brings days
DAYS_TAG = "ldg/days"  # of a refresh: the version of the days that it is made from
STEPS = (*MADE_TOGETHER, WAITING_TIMES)


def daily_datasets(sources: Sequence[Source] = SOURCES) -> list[DatasetSpec]:
    """The datasets whose raw material comes day by day; no setting decides which they are."""
    # Not checked: that would start threads of polars, and this is imported before forks (`assets.forks`).
    settings = Settings.model_construct()
    return [spec for source in sources if source.is_daily for spec in source.datasets(settings)]


def lane(spec: DatasetSpec) -> list[AssetKey]:
    """What of a dataset is made anew after its days, but for models: in the source, then in its chain."""
    of_all_days = [asset for step in spec.source.steps if not step.daily for asset in step.assets]
    return [*map(AssetKey.from_user_string, of_all_days), *(AssetKey([spec.name, step]) for step in STEPS)]


def renewed(spec: DatasetSpec) -> AssetKey:
    """The models of a dataset that were trained before."""
    return AssetKey([spec.name, RENEWED_MODELS])


def version(settings: Settings, sources: Sequence[Source] = SOURCES) -> str:
    """The version of the days of all sources."""
    return "-".join(source.version(settings) for source in sources if source.is_daily)


DAILY = daily_datasets()
refresh_what_changed = define_asset_job(
    "refresh_what_changed",
    selection=AssetSelection.assets(*(key for spec in DAILY for key in (*lane(spec), renewed(spec))))
    | AssetSelection.groups("results"),
    executor_def=in_process_executor,  # one step after the other: a process for each would cost more
    description="The dense subnetwork of the archive's days, its event table, every model that was trained "
    "before, and all results, in this order.",
)


@sensor(
    job=refresh_what_changed,
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="One run for each day that a schedule brings, if days of the network changed: what was "
    "made before is made anew, in order. What was never made stays so; days brought by hand set off nothing.",
)
def refresh(context: SensorEvaluationContext, settings: ResourceParam[Settings]) -> RunRequest | SkipReason:
    """Ask for a refresh where the network's days are others than those of the last one that succeeded.

    When the sensor is switched on, what is there counts as made from the days that are there. A refresh that
    failed is tried again with the next day that a schedule brings.
    """
    instance = context.instance
    brought = newest_run(instance, RunsFilter(tags=REFRESH_TAG, statuses=[DagsterRunStatus.SUCCESS]))
    last_brought = brought.run_id if brought is not None else "none"
    looked_at, _, days_at_start = (context.cursor or " ").partition(" ")
    if looked_at == last_brought:
        return SkipReason("No schedule has brought a day since.")
    if instance.get_runs_count(
        RunsFilter(job_name=refresh_what_changed.name, statuses=NOT_FINISHED_STATUSES)
    ):
        return SkipReason("A refresh is at work.")
    days = version(settings)
    context.update_cursor(f"{last_brought} {days_at_start or days}")
    if not days_at_start:
        return SkipReason("From now on: what is there is taken as made from the days that are there.")
    latest = newest_run(
        instance, RunsFilter(job_name=refresh_what_changed.name, statuses=[DagsterRunStatus.SUCCESS])
    )
    if days == (latest.tags[DAYS_TAG] if latest is not None and DAYS_TAG in latest.tags else days_at_start):
        return SkipReason("No day of the network changed since the last refresh.")
    chosen = made_before(instance)
    if not chosen:
        return SkipReason("Nothing that depends on these days was ever made.")
    return RunRequest(run_key=last_brought, asset_selection=chosen, tags={DAYS_TAG: days})


def newest_run(instance: DagsterInstance, runs: RunsFilter) -> DagsterRun | None:
    """The newest of these runs."""
    return next(iter(instance.get_runs(runs, limit=1)), None)


def made_before(instance: DagsterInstance, specs: Sequence[DatasetSpec] = DAILY) -> Sequence[AssetKey]:
    """Which assets of a refresh were materialized before; models count where one was trained."""
    keys = dict.fromkeys([*(key for spec in specs for key in lane(spec)), *map(AssetKey, RESULTS)])
    materialized = [key for key in keys if instance.get_latest_materialization_event(key) is not None]
    models = {spec.name: AssetKey([spec.name, TRAINED_MODELS]) for spec in specs}
    trained = [spec for spec in specs if instance.get_materialized_partitions(models[spec.name])]
    return [*materialized, *map(renewed, trained)]
