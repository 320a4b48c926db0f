"""The launcher's Dagster instance of a home, and cleanup of orphaned runs of killed launchers."""

import os

from dagster import DagsterInstance, RunsFilter
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from assets.dagster_home import dagster_environment, dagster_folder
from pipeline.settings import Settings

HEADLESS = {"ldg/headless": "yes"}  # the tag of every run of the launcher
NOOP_LOGS = "dagster._core.storage.noop_compute_log_manager"


def instance_of(settings: Settings) -> DagsterInstance:
    """Return the instance that `make dev` uses on this home, with two differences.

    Steps write to this terminal instead of a log, and claim no pool slots: the launcher limits parallelism
    itself, and must not wait for a slot that a dead run of the UI holds. Sets Dagster's variables.
    """
    os.environ |= dagster_environment(settings)
    overrides = {
        "compute_logs": {"module": NOOP_LOGS, "class": "NoOpComputeLogManager"},
        "concurrency": {"pools": {"granularity": "run"}},  # only the UI's queue then claims slots
    }
    return DagsterInstance.local_temp(str(dagster_folder(settings)), overrides=overrides)


def bury_dead_runs(instance: DagsterInstance) -> None:
    """Fail the orphaned runs of killed launchers, and free the pool slots they may hold.

    The caller must hold the home's lock: all unfinished headless runs are then dead. A run with a parent was
    re-executed by the UI, which copies the tags; it is left alone.
    """
    for run in instance.get_runs(RunsFilter(statuses=NOT_FINISHED_STATUSES, tags=HEADLESS)):
        if run.parent_run_id is None:
            instance.report_run_failed(run, "its process is gone")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
