"""The GitHub lane's sources: archive hours, normalized events, the dense subnetwork."""

from collections import Counter
from datetime import date

import polars as pl
from dagster import (
    AssetCheckSeverity,
    AssetExecutionContext,
    MaterializeResult,
    MetadataValue,
    ResourceParam,
    asset,
)

from assets.checks import ARCHIVE_CHECKS, judge_days
from assets.locks import is_headless, run_name, table_locked
from assets.metadata import shown
from assets.partitions import FILE_DAYS, MONTHLY_RUNS
from assets.retries import retry_later
from assets.versions import version_of_files
from pipeline.lake import read_parquet
from pipeline.progress import counted
from pipeline.settings import Settings
from pipeline.sources.gharchive.days import fetch_days, read_days
from pipeline.sources.gharchive.fetch import require_some_hour
from pipeline.sources.gharchive.reading import EVENT_SCHEMA
from pipeline.sources.gharchive.source import GitHub, event_rules, fetch_settings, subnetwork_rule
from pipeline.sources.gharchive.subnetwork import find_subnetwork, write_subnetwork
from pipeline.text import escape_markdown


@asset(
    group_name="gharchive",
    kinds={"http", "json"},
    partitions_def=FILE_DAYS,
    backfill_policy=MONTHLY_RUNS,
    pool="gharchive",
)
def gharchive_files(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
    """The 24 hour files of an archive day, fetched, verified and kept, each with a note on it.

    Hours already here and unchanged are not fetched again; failed hours are tried anew, twice in a run.
    An archive that cannot be reached is an error, unless nothing is left to be fetched. So is one that has no
    hour of several days, or of a headless run's, if the home has none either.
    """
    fetching = fetch_settings(settings)
    days = [date.fromisoformat(key) for key in context.partition_keys]
    found: Counter[str] = Counter()
    try:
        fetched = fetch_days(
            days,
            settings.lake,
            fetching,
            log=context.log.info,
            work=run_name(context),
            cluster=settings.cluster,
        )
        for day, hours in counted(fetched, len(days), "fetch", "days", context.log.info):
            statuses = [hour.status for hour in hours]
            found.update(statuses)
            files = [{"file": hour.name, "status": hour.status, "bytes": hour.bytes} for hour in hours]
            context.add_asset_metadata(
                shown(
                    pl.DataFrame(files),
                    **{f"hours_{status}": statuses.count(status) for status in sorted(set(statuses))},
                    bytes=sum(hour.bytes or 0 for hour in hours),
                    complete="failed" not in statuses,
                ),
                partition_key=day.isoformat(),
            )
    except ConnectionError as error:
        retry_later(context, settings, str(error))
        raise
    if len(days) > 1 or is_headless(context):  # the archive may lack a day
        require_some_hour(settings.lake, fetching, days, found)
    if found["failed"]:
        retry_later(context, settings, f"{found['failed']} hours failed")
    return MaterializeResult()


@asset(
    group_name="gharchive",
    kinds={"parquet", "polars"},
    deps=[gharchive_files],
    partitions_def=FILE_DAYS,
    backfill_policy=MONTHLY_RUNS,
    check_specs=ARCHIVE_CHECKS,
)
def github_events(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
    """Events of an archive day in one shape: who did what to whom, when (UTC).

    Every event of every file is kept, ignored by rule, a duplicate, or quarantined with the reason.
    """
    days = [date.fromisoformat(key) for key in context.partition_keys]
    read = read_days(
        days,
        settings.lake,
        event_rules(settings),
        fetch_settings(settings),
        keep_raw=settings.keep_raw,
        log=context.log.info,
        work=run_name(context),
        cluster=settings.cluster,
    )
    for account in counted(read, len(days), "read", "days", context.log.info):
        day = account.day
        parts = sorted(settings.lake.github_day(day).glob("*.parquet"))  # none when no hour could be had
        head = pl.concat([pl.DataFrame(schema=EVENT_SCHEMA), *map(read_parquet, parts[:1])])
        metadata = shown(
            head,
            **{f"hours_{status}": count for status, count in account.hours.items()},
            events=account.events,
            ignored=account.ignored,
            duplicates=account.duplicates,
            quarantined=account.quarantined,
            events_per_second=account.rate,
            complete=account.complete,
            notes=MetadataValue.md("\n".join(f"- {escape_markdown(note)}" for note in account.notes)),
        )
        context.add_asset_metadata(
            {**metadata, "dagster/row_count": account.kept}, partition_key=day.isoformat()
        )
    severity = AssetCheckSeverity.WARN if is_headless(context) else AssetCheckSeverity.ERROR
    return MaterializeResult(check_results=judge_days(settings.lake, days, severity))


@asset(
    key=["github", "subnetwork"],
    group_name="github",
    kinds={"duckdb", "parquet"},
    deps=[github_events],
)
def github_subnetwork(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
    """The accounts that interact enough to learn from, and how many accounts each rule removed."""
    source = GitHub()
    source.bring_shared(settings, run_name(context), context.log.info)
    with table_locked(context, settings.lake, "github", *source.shared_with_table):
        subnetwork = find_subnetwork(
            settings.lake.github_events,
            subnetwork_rule(settings),
            cluster=settings.cluster,
            log=context.log.info,
        )
        write_subnetwork(subnetwork, settings.lake.github_subnetwork)
        # The event table is made from it and from the days themselves, so that its version tells of both.
        days = sorted(settings.lake.github_accounts.glob("*.parquet"))
        version = version_of_files([settings.lake.github_subnetwork / "accounts.parquet", *days])
    return MaterializeResult(
        metadata=shown(
            subnetwork.accounts,
            accounts_seen=subnetwork.seen,
            days=subnetwork.days,
            missing_days=subnetwork.missing_days,
            **{f"removed_{rule}": count for rule, count in subnetwork.removed.items()},
        ),
        data_version=version,
    )
