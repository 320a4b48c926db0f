"""The Dagster instance of a home as the launcher uses it, and the runs that killed launchers left there."""

import os

from dagster import DagsterInstance, RunsFilter
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from assets.dagster_home import dagster_environment, dagster_folder
from pipeline.settings import Settings

HEADLESS = {"ldg/headless": "yes"}  # the tag of every run of the launcher
NOOP_LOGS = "dagster._core.storage.noop_compute_log_manager"


def instance_of(settings: Settings) -> DagsterInstance:
    """The instance of `make dev` on this home, except that steps write to this terminal and not to a log, and
    wait for no slot of a pool: the launcher itself limits how much runs side by side, and must not wait for
    a slot that a dead run of the UI holds.
    """
    os.environ |= dagster_environment(settings)
    overrides = {
        "compute_logs": {"module": NOOP_LOGS, "class": "NoOpComputeLogManager"},
        "concurrency": {"pools": {"granularity": "run"}},  # slots are then claimed by the UI's queue alone
    }
    return DagsterInstance.local_temp(str(dagster_folder(settings)), overrides=overrides)


def bury_dead_runs(instance: DagsterInstance) -> None:
    """Fail the runs of killed launchers, and free the pool slots they may hold.

    Whoever holds the home's lock is the only launcher alive, so that all other headless runs are dead. One
    that the UI ran again has the tags of the first, and is the UI's.
    """
    for run in instance.get_runs(RunsFilter(statuses=NOT_FINISHED_STATUSES, tags=HEADLESS)):
        if run.parent_run_id is None:
            instance.report_run_failed(run, "its process is gone")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
