"""What runs by itself: the archive's newest complete day, then everything that depends on it."""

from dagster import (
    AssetSelection,
    AutomationCondition,
    AutomationConditionSensorDefinition,
    ResourceParam,
    RunRequest,
    ScheduleEvaluationContext,
    define_asset_job,
    schedule,
)

from assets.partitions import day_range
from pipeline.following.rule import LATE_DAYS
from pipeline.following.window import newest_complete_day, window_until
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path

REFRESH_TAG = {"ldg/refresh": "yes"}

# Only what was made before is made again, and only when the change began with the schedule:
# materializing an asset by hand in the UI does not set off hours of training.
REFRESHED = (
    AutomationCondition.any_deps_match(
        AutomationCondition.newly_updated() & AutomationCondition.executed_with_tags(tag_values=REFRESH_TAG)
    ).since_last_handled()
    & ~AutomationCondition.missing()
    & ~AutomationCondition.any_deps_in_progress()
    & ~AutomationCondition.in_progress()
)

archive_day = define_asset_job(
    "archive_day",
    selection=AssetSelection.assets("gharchive_files", "github_events"),
    description="Fetch and normalize one day of the archive.",
)


@schedule(
    job=archive_day,
    # The last hour of a day appears shortly after midnight UTC; a file that is still absent half a day
    # later is missing for good, so at this time the day before is complete.
    cron_schedule="30 12 * * *",
    execution_timezone="UTC",
    description="Every day: the archive's newest complete day, and again those of the last 14 that were "
    "brought before, for hours that failed, came late or were replaced. The sensor `refresh` does the rest.",
)
def newest_archive_day(context: ScheduleEvaluationContext, settings: ResourceParam[Settings]) -> RunRequest:
    """Ask for the day before the tick's, and all since the oldest of the last 14 that was brought."""
    newest = newest_complete_day(context.scheduled_execution_time)
    late = window_until(newest, LATE_DAYS)
    first = next((day for day in late if account_path(settings.lake, day).exists()), newest)
    return RunRequest(run_key=newest.isoformat(), tags={**REFRESH_TAG, **day_range(first, newest)})


refresh = AutomationConditionSensorDefinition(
    "refresh",
    target=AssetSelection.all(),
    run_tags=REFRESH_TAG,
    description="Makes anew what was made before and depends on a day that the schedule brought.",
)

SCHEDULES = [newest_archive_day]
SENSORS = [refresh]
JOBS = [archive_day]
