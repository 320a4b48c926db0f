"""The job `backfill_archive`: the days of the archive that a home works on, as one backfill."""

from datetime import UTC, datetime
from functools import partial

from dagster import (
    Config,
    Definitions,
    Failure,
    JobDefinition,
    OpExecutionContext,
    ResourceParam,
    job,
    map_asset_specs,
    op,
)
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.utils import make_new_backfill_id
from pydantic import Field, create_model

from assets.lanes.github import gharchive_files, github_events
from assets.pages import explained
from pipeline.following.window import window_between
from pipeline.settings import Settings


class Days(Config):
    """Which days of the archive are brought."""

    first: str
    last: str
    only_missing: bool = Field(True, description="Whether days that were brought before are left out.")


def backfill_archive(settings: Settings) -> JobDefinition:
    """The job, with the window of `settings` as default."""
    first, last = settings.github_history, settings.last_github_day()
    days_class = create_model(
        "Days",
        __base__=Days,
        first=(str, Field(first.isoformat(), description="First day; the default is LDG_GITHUB_HISTORY.")),
        last=(
            str,
            Field(last.isoformat(), description="Last day; the default is LDG_GITHUB_END or yesterday."),
        ),
    )

    @op
    def request_backfill(
        context: OpExecutionContext,
        config: days_class,  # ty: ignore[invalid-type-form] - its defaults are the settings'
        settings: ResourceParam[Settings],
    ) -> None:
        """Ask the daemon for the days, a month of them in a run."""
        try:
            days = [day.isoformat() for day in window_between(config.first, config.last)]
        except ValueError as error:
            raise Failure(str(error)) from None
        if config.only_missing:
            brought = context.instance.get_materialized_partitions(github_events.key)
            days = [day for day in days if day not in brought]
        if not days:
            context.log.info("Every one of these days was brought before: there is nothing to do.")
            return
        assets = map_asset_specs(partial(explained, settings=settings), [gharchive_files, github_events])
        archive = Definitions(assets, resources={"settings": settings})
        backfill = PartitionBackfill.from_asset_partitions(
            backfill_id=make_new_backfill_id(),
            asset_graph=archive.resolve_asset_graph(),
            partition_names=days,
            asset_selection=[gharchive_files.key, github_events.key],
            backfill_timestamp=datetime.now(UTC).timestamp(),
            tags={},
            dynamic_partitions_store=context.instance,
            all_partitions=False,
            title=f"Archive days {days[0]} … {days[-1]}",
            description=None,
            run_config=None,
        )
        context.instance.add_backfill(backfill)
        context.log.info(
            f"{len(days)} days are asked for: backfill {backfill.backfill_id} under Runs, Backfills."
        )

    @job(
        description="Fetch and normalize the days of the archive that this home works on, as a backfill of a "
        "month per run. Days that were brought before are left out unless the config says otherwise."
    )
    def backfill_archive() -> None:
        request_backfill()

    return backfill_archive
