"""A headless run takes a failed check for what it is, and buries what killed runs left."""

from pathlib import Path

import pytest
from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    DagsterInstance,
    DagsterRunStatus,
    Definitions,
    JobDefinition,
    MaterializeResult,
    asset,
)
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from assets.headless.instance import HEADLESS, bury_dead_runs
from assets.headless.steps import FailedCheckError, Step, materialize

TABLE = Step((AssetKey("table"),))
# Dagster queues no run but those of the UI.
LEFT = [status for status in NOT_FINISHED_STATUSES if status != DagsterRunStatus.QUEUED]


def job(severity: AssetCheckSeverity, passed: bool) -> JobDefinition:
    @asset(check_specs=[AssetCheckSpec("whole", asset="table")], pool="training")
    def table() -> MaterializeResult:
        result = AssetCheckResult(
            passed=passed, severity=severity, metadata={"gaps": [f"row {n}" for n in range(12)]}
        )
        return MaterializeResult(check_results=[result])

    return Definitions(assets=[table]).resolve_implicit_global_asset_job_def()


def test_a_failed_check_is_an_error_or_a_warning_as_it_says() -> None:
    message = "check whole of table failed: gaps row 0, .*row 9 and 2 more$"
    with DagsterInstance.ephemeral() as instance:
        assert materialize(TABLE, job(AssetCheckSeverity.ERROR, passed=True), instance) == []
        with pytest.raises(FailedCheckError, match=message):
            materialize(TABLE, job(AssetCheckSeverity.ERROR, passed=False), instance)
        (warning,) = materialize(TABLE, job(AssetCheckSeverity.WARN, passed=False), instance)
        assert warning.startswith("check whole of table failed: gaps row 0,")


def test_dead_headless_runs_of_any_status_are_buried_and_those_of_the_ui_are_not(tmp_path: Path) -> None:
    table_job = job(AssetCheckSeverity.ERROR, passed=True)
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        instance.event_log_storage.set_concurrency_slots("training", 2 * len(LEFT))
        expected, of_the_ui = {}, set()
        for status in LEFT:
            dead = instance.create_run_for_job(table_job, status=status, tags=HEADLESS)
            living = instance.create_run_for_job(table_job, status=status)
            for run in (dead, living):
                instance.event_log_storage.claim_concurrency_slot("training", run.run_id, "table")
            expected |= {dead.run_id: DagsterRunStatus.FAILURE, living.run_id: status}
            of_the_ui.add(living.run_id)
        again = instance.create_run_for_job(  # by the UI, which copies tags
            table_job,
            status=DagsterRunStatus.STARTED,
            tags=HEADLESS,
            parent_run_id=dead.run_id,
            root_run_id=dead.run_id,
        )
        expected[again.run_id] = DagsterRunStatus.STARTED
        bury_dead_runs(instance)
        assert {run.run_id: run.status for run in instance.get_runs()} == expected
        slots = instance.event_log_storage.get_concurrency_info("training")
        assert slots.active_run_ids == of_the_ui
