"""The sensor and job that rebuild existing downstream assets in one run after a schedule fetches a day."""

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

REFRESH_TAG = {"ldg/refresh": "yes"}  # of the runs that a schedule starts to fetch days
DAYS_TAG = "ldg/days"  # of a refresh: the version of its input days
STEPS = (*MADE_TOGETHER, WAITING_TIMES)


def daily_datasets(sources: Sequence[Source] = SOURCES) -> list[DatasetSpec]:
    """Return the datasets of all daily sources; they do not depend on the settings."""
    # Without validation, which would start polars threads: this is imported before forks (`assets.forks`).
    settings = Settings.model_construct()
    return [spec for source in sources if source.is_daily for spec in source.datasets(settings)]


def lane(spec: DatasetSpec) -> list[AssetKey]:
    """Return what a refresh rebuilds of a dataset except models: the source's assets, then its chain's."""
    of_all_days = [asset for step in spec.source.steps if not step.daily for asset in step.assets]
    return [*map(AssetKey.from_user_string, of_all_days), *(AssetKey([spec.name, step]) for step in STEPS)]


def renewed(spec: DatasetSpec) -> AssetKey:
    """Return the key of the asset that retrains a dataset's existing models."""
    return AssetKey([spec.name, RENEWED_MODELS])


def version(settings: Settings, sources: Sequence[Source] = SOURCES) -> str:
    """Return the joined versions of the days of all daily sources."""
    return "-".join(source.version(settings) for source in sources if source.is_daily)


DAILY = daily_datasets()
refresh_what_changed = define_asset_job(
    "refresh_what_changed",
    selection=AssetSelection.assets(*(key for spec in DAILY for key in (*lane(spec), renewed(spec))))
    | AssetSelection.groups("results"),
    executor_def=in_process_executor,  # one step at a time: a process for each would cost more
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
    """Request a refresh if the days' version differs from that of the last successful refresh.

    At its first tick the sensor takes existing assets as up to date. A failed refresh is retried after the
    next day that a schedule fetches.
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
    """Return the newest run that matches, or None."""
    return next(iter(instance.get_runs(runs, limit=1)), None)


def made_before(instance: DagsterInstance, specs: Sequence[DatasetSpec] = DAILY) -> Sequence[AssetKey]:
    """Return the assets of a refresh that were materialized before, and models where any was trained."""
    keys = dict.fromkeys([*(key for spec in specs for key in lane(spec)), *map(AssetKey, RESULTS)])
    materialized = [key for key in keys if instance.get_latest_materialization_event(key) is not None]
    models = {spec.name: AssetKey([spec.name, TRAINED_MODELS]) for spec in specs}
    trained = [spec for spec in specs if instance.get_materialized_partitions(models[spec.name])]
    return [*materialized, *map(renewed, trained)]
