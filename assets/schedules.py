"""What runs by itself: the archive's newest complete day, then everything that depends on it."""

from datetime import timedelta

from dagster import (
    AssetSelection,
    AutomationCondition,
    AutomationConditionSensorDefinition,
    RunRequest,
    ScheduleEvaluationContext,
    define_asset_job,
    schedule,
)

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
    description="Every day: the archive's newest complete day; the sensor `refresh` follows with the rest.",
)
def newest_archive_day(context: ScheduleEvaluationContext) -> RunRequest:
    """Ask for the day before the tick's."""
    newest = (context.scheduled_execution_time - timedelta(days=1)).strftime("%Y-%m-%d")
    return RunRequest(run_key=newest, partition_key=newest, tags=REFRESH_TAG)


refresh = AutomationConditionSensorDefinition(
    "refresh",
    target=AssetSelection.all(),
    run_tags=REFRESH_TAG,
    description="Makes anew what was made before and depends on a day that the schedule brought.",
)

SCHEDULES = [newest_archive_day]
SENSORS = [refresh]
JOBS = [archive_day]
