"""The schedules: fetch the archive's newest complete day, or follow the archive through it."""

from dagster import (
    AssetSelection,
    ResourceParam,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
    define_asset_job,
    in_process_executor,
    schedule,
)

from assets.lanes.following import FOLLOWING
from assets.partitions import day_range
from assets.refresh import REFRESH_TAG, refresh, refresh_what_changed
from pipeline.following.archive_days import newest_day_to_follow
from pipeline.following.rule import LATE_DAYS
from pipeline.following.window import newest_complete_day, window_until
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path

archive_day = define_asset_job(
    "archive_day",
    selection=AssetSelection.assets("gharchive_files", "github_events"),
    executor_def=in_process_executor,  # one step at a time: a process for each would cost more
    description="Fetch and normalize one day of the archive.",
)


follow_day = define_asset_job(
    "follow_day",
    selection=AssetSelection.assets(*FOLLOWING, "warehouse", "report"),
    executor_def=in_process_executor,  # one step at a time, for seconds or minutes
    description="Follow the archive through one day: bring it and what came late, score the forecast of the "
    "day before, learn on, forecast the next; then the warehouse and the report.",
)


def schedules(settings: Settings) -> list[ScheduleDefinition]:
    """Return the schedules, with the cron expression of LDG_SCHEDULE."""

    @schedule(
        job=archive_day,
        cron_schedule=settings.schedule,
        execution_timezone="UTC",
        description="Every day: the archive's newest complete day, and again those of the last "
        f"{LATE_DAYS} that were brought before, for hours that failed, came late or were replaced. The "
        "sensor `refresh` does the rest.",
    )
    def newest_archive_day(
        context: ScheduleEvaluationContext, settings: ResourceParam[Settings]
    ) -> RunRequest | SkipReason:
        """Request the day before the tick's and, for late data, all since the oldest recent day fetched.

        Recent days are the last `LATE_DAYS`. Days after the home's window are not requested.
        """
        newest = newest_complete_day(context.scheduled_execution_time)
        late = window_until(newest, LATE_DAYS)
        last = min(newest, settings.github_end)
        if last < late.first:
            return SkipReason(
                f"LDG_GITHUB_END is {last}, more than {LATE_DAYS} days ago: set a later day and reload the "
                "code location, and this schedule brings new days."
            )
        first = next((day for day in late if account_path(settings.lake, day).exists()), last)
        return RunRequest(
            run_key=newest.isoformat(), tags={**REFRESH_TAG, **day_range(min(first, last), last)}
        )

    @schedule(
        job=follow_day,
        cron_schedule=settings.schedule,
        execution_timezone="UTC",
        description="Every day: the archive is followed through its newest complete day. The first tick "
        "brings the LDG_FOLLOW_DAYS before it, chooses whom to follow and trains. If days of a network are "
        "among them, the sensor `refresh` does the rest.",
    )
    def follow_newest_day(
        context: ScheduleEvaluationContext, settings: ResourceParam[Settings]
    ) -> RunRequest:
        """Request the day before the tick's, or the last one of an archive folder that ends earlier."""
        yesterday = newest_complete_day(context.scheduled_execution_time)
        newest = newest_day_to_follow(settings, yesterday).isoformat()
        return RunRequest(run_key=newest, partition_key=newest, tags=REFRESH_TAG)

    return [newest_archive_day, follow_newest_day]


SENSORS = [refresh]
JOBS = [archive_day, refresh_what_changed, follow_day]
