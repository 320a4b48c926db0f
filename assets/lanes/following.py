"""The lane of the followed archive: days are fetched, scored, learned from and forecast."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl
from dagster import (
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    BackfillPolicy,
    FreshnessPolicy,
    MaterializeResult,
    ResourceParam,
    asset,
)

from assets.checks import warning_of_findings
from assets.headless.instance import instance_of
from assets.locks import run_name, training_slot
from assets.metadata import shown
from assets.partitions import FILE_DAYS
from assets.versions import version_of_facts, version_of_files, version_tags
from pipeline import clock
from pipeline.cluster.run import run_task
from pipeline.following.archive_days import days_needed, end_of_archive, newest_day_to_follow
from pipeline.following.bring import bring_as_set
from pipeline.following.files import FollowingFiles
from pipeline.following.health import OLDEST_DAYS, behind, lost_to_recency, rate_drift
from pipeline.following.record import DayRecord, followed_days, published_scores, read_record
from pipeline.following.rule_of_settings import follow_rule
from pipeline.following.scores import ONLINE
from pipeline.following.window import Window, end_of
from pipeline.lake import Lake, read_parquet
from pipeline.names import HITS_AT, MAR, RECENCY
from pipeline.settings import Settings
from pipeline.sources.gharchive.checks import failed_hours
from pipeline.sources.gharchive.day import account_path

ARCHIVE, DAY = AssetKey(["following", "archive"]), AssetKey(["following", "day"])
FOLLOWING = (ARCHIVE, DAY)

# Each day builds on the day before, so one run processes several days in order.
IN_ORDER = BackfillPolicy.single_run()


@asset(
    key=ARCHIVE,
    group_name="following",
    kinds={"http", "parquet"},
    partitions_def=FILE_DAYS,
    backfill_policy=IN_ORDER,
    pool="gharchive",
    check_specs=[
        AssetCheckSpec(
            "every_day_whole",
            asset=ARCHIVE,
            description="No hour of any day is still to be had: this stays red until every day is whole.",
        )
    ],
)
def following_archive(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
    """Fetch and read the archive's days that are needed to follow it up to this one.

    Missing days are fetched; each of the last 14 is requested again, for hours that failed, came late or were
    replaced. Changed days are logged as materializations of `github_events`. This asset stays empty until the
    archive is followed.
    """
    last = date.fromisoformat(context.partition_keys[-1])
    if (newest := newest_day_to_follow(settings, last)) < last:
        raise ValueError(f"{end_of_archive(settings, newest)}: {last} cannot be followed")
    window = days_needed(settings, last, None)
    changed = bring_as_set(settings, window, now=clock.now(), log=context.log.info, work=run_name(context))
    for event in changed_days(settings.lake, changed):
        context.log_event(event)
    failed = failed_hours(settings.lake)
    return MaterializeResult(
        metadata=archive_metadata(window, changed, failed),
        check_results=[warning_of_findings("every_day_whole", failed)],
    )


def changed_days(lake: Lake, days: Sequence[date]) -> list[AssetMaterialization]:
    """List the materializations of `github_events` for the days that changed."""
    return [
        AssetMaterialization(
            "github_events",
            partition=day.isoformat(),
            tags=version_tags(version_of_files([account_path(lake, day)])),
        )
        for day in days
    ]


def archive_metadata(window: Window, changed: Sequence[date], failed: Sequence[str]) -> dict[str, int]:
    """Return the numbers of days in use, of days that changed, and of hours still to be fetched."""
    return {"days": len(window), "days changed": len(changed), "hours to be had": len(failed)}


DAY_CHECKS = {
    "event_rate_steady": "The newest day has neither far more nor far fewer events than the days before.",
    "ahead_of_recency": "No model has ranked worse than recency for seven days.",
    "up_to_date": "The newest followed day is not older than two days.",
}


@asset(
    key=DAY,
    group_name="following",
    kinds={"pytorch", "parquet"},
    deps=[following_archive],
    partitions_def=FILE_DAYS,
    backfill_policy=IN_ORDER,
    pool="following",
    freshness_policy=FreshnessPolicy.time_window(
        warn_window=timedelta(hours=26), fail_window=timedelta(days=OLDEST_DAYS, hours=2)
    ),
    check_specs=[AssetCheckSpec(name, asset=DAY, description=text) for name, text in DAY_CHECKS.items()],
)
def following_day(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
    """Score the previous day's forecast on a day, train on the day, and make the next forecast.

    Earlier days that are incomplete, or whose data changed, are processed first. The metrics are the online
    ones of the first model of LDG_FOLLOW_VARIANTS and of recency, so the plots of this asset are the track
    record. This asset stays empty until the archive is followed.
    """
    from model.following.task import follow_task

    lake, rule = settings.lake, follow_rule(settings)
    last = date.fromisoformat(context.partition_keys[-1])
    with training_slot(context, settings):
        made_days = run_task(follow_task(rule, last), lake, settings.cluster, context.log.info)
    # Earlier days processed in this run, for instance after days without a run.
    for earlier in (record for record in made_days if record.day.isoformat() not in context.partition_keys):
        tags = version_tags(version_of_facts(earlier.digest))
        for key in FOLLOWING:
            context.log_event(AssetMaterialization(key, partition=earlier.day.isoformat(), tags=tags))
    days = followed_days(lake)
    record = read_record(lake, last)
    assert record is not None
    scores = pl.concat(published_scores(lake))
    events = {day: of_day.events for day in days if (of_day := read_record(lake, day)) is not None}
    findings = {
        "event_rate_steady": rate_drift({day: count for day, count in events.items() if day <= last}),
        "ahead_of_recency": lost_to_recency(scores),
        "up_to_date": behind(days, clock.now()),
    }
    return MaterializeResult(
        metadata=day_metadata(lake, record, scores, rule.variants[0], len(made_days)),
        data_version=version_of_facts(record.digest),
        check_results=[warning_of_findings(name, finding) for name, finding in findings.items()],
    )


def day_metadata(
    lake: Lake, record: DayRecord, scores: pl.DataFrame, variant: str, days_made: int
) -> Mapping[str, Any]:
    """Return the metadata of a followed day: its top forecasts, and its metrics of the track record."""
    forecasts = read_parquet(FollowingFiles.of(lake).forecasts(record.day))
    return shown(
        forecasts.filter(pl.col("rank") == 0).sort("probability", descending=True),
        **numbers(scores, record.day, variant),
        events=record.events,
        seconds=record.seconds,
        days_made=str(days_made),  # as text, which the UI does not plot
    )


def report_followed(
    settings: Settings, window: Window, changed: Sequence[date], records: Sequence[DayRecord]
) -> None:
    """Report the days that `ldg follow` fetched and processed to the home's Dagster instance, as a run would.

    Check results are not reported; runs of the UI evaluate them.
    """
    lake = settings.lake
    brought = archive_metadata(window, changed, failed_hours(lake))
    scores, variant = pl.concat(published_scores(lake)), follow_rule(settings).variants[0]
    with instance_of(settings) as instance:
        for event in changed_days(lake, changed):
            instance.report_runless_asset_event(event)
        for day in sorted({window.last, *(record.day for record in records)}):
            instance.report_runless_asset_event(
                AssetMaterialization(ARCHIVE, partition=day.isoformat(), metadata=brought)
            )
        for record in records:
            instance.report_runless_asset_event(
                AssetMaterialization(
                    DAY,
                    partition=record.day.isoformat(),
                    metadata=day_metadata(lake, record, scores, variant, len(records)),
                    tags=version_tags(version_of_facts(record.digest)),
                )
            )


def numbers(scores: pl.DataFrame, day: date, variant: str) -> dict[str, float]:
    """Return MAR and HITS@10 of a day's online scores: of `variant`, and of recency with its prefix."""
    rows = scores.filter(pl.col("how") == ONLINE, pl.col("scored_until") == end_of(day))
    return {
        f"{prefix}{metric}": rows.filter(pl.col("predictor") == predictor)[metric].item()
        for predictor, prefix in ((variant, ""), (RECENCY, f"{RECENCY}_"))
        for metric in (MAR.name, HITS_AT[10].name)
        if rows.height and rows.filter(pl.col("predictor") == predictor)[metric].item() is not None
    }
