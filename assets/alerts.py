"""The sensor `alerts`: a line for every run that failed."""

from dagster import (
    DefaultSensorStatus,
    RunFailureSensorContext,
    SensorDefinition,
    run_failure_sensor,
)

from pipeline.alerts import alert
from pipeline.settings import Settings


def alerts(settings: Settings) -> SensorDefinition:
    """Return the sensor for the home of `settings`."""

    @run_failure_sensor(
        name="alerts",
        default_status=DefaultSensorStatus.RUNNING,
        monitor_all_code_locations=True,
        minimum_interval_seconds=30,
        description="Writes one line for each run that failed to `alerts.log` of the home and to standard "
        "error, and sends it to LDG_ALERT_WEBHOOK and LDG_ALERT_COMMAND where they are set.",
    )
    def alerts(context: RunFailureSensorContext) -> None:
        alert(settings, failure_in_words(context))

    return alerts


def failure_in_words(context: RunFailureSensorContext) -> str:
    """Describe a failed run: its assets or job, partitions, run id, and the cause of each failed step."""
    run = context.dagster_run
    keys = sorted(key.to_user_string() for key in run.asset_selection or ())
    work = ", ".join(keys) if run.job_name.startswith("__") and keys else run.job_name
    days = [run.tags.get(f"dagster/asset_partition_range_{end}") for end in ("start", "end")]
    part = run.tags.get("dagster/partition") or " … ".join(filter(None, days))
    steps = context.get_step_failure_events()
    causes = []
    for step in steps:
        error = step.step_failure_data.error
        while error is not None and error.cause is not None:
            error = error.cause
        causes.append(f"{step.step_key}: {error.message if error else 'no reason was given'}")
    causes = causes or [context.failure_event.message or "no reason was given"]
    return f"{f'{work} {part}'.strip()} failed (run {run.run_id[:8]}): {'; '.join(causes)}"
