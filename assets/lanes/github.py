"""Source assets of the GitHub lane: archive hours, normalized events, the dense subnetwork."""

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
    """Fetch, verify and store the 24 hour files of an archive day, with a record of each.

    Unchanged hours that the home has are not fetched again; failed hours are retried twice in a run. The run
    fails if the archive is unreachable while hours are still to be fetched. A run of several days, or a
    headless one, also fails if it finds no hour and the home has none.
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
    if len(days) > 1 or is_headless(context):  # a single day may be missing from the archive
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
    """Normalize the events of an archive day: actor, counterpart, type and time (UTC).

    Every event of every file is kept, ignored by a rule, a duplicate, or quarantined with the reason.
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
        parts = sorted(settings.lake.github_day(day).glob("*.parquet"))  # empty if no hour was available
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
    """Select the accounts with enough interactions to learn from; count those that each rule removed."""
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
        # The event table is built from both the subnetwork and the days, so the version covers both.
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
