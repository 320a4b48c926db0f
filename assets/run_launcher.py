"""A run launcher that detects orphaned runs, whose process has died.

With Dagster's own launcher, a run killed together with its code server stays "started" and keeps its slot.
Here the daemon fails it, and `run_retries` in dagster.yaml starts it again.
"""

import os
import time
from pathlib import Path

from dagster import DagsterEventType, DagsterRun, DagsterRunStatus, DefaultRunLauncher
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.execution.retries import auto_reexecution_should_retry_run
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._core.storage.tags import WILL_RETRY_TAG
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import ConfigurableClassData, deserialize_value

from pipeline.lake import is_alive

ALIVE = CheckRunHealthResult(WorkerStatus.RUNNING)
GONE = CheckRunHealthResult(WorkerStatus.FAILED, "its process is gone")
# Seconds without a process until a run counts as orphaned. The daemon asks a restarted code server for its
# assets every ten seconds until it has them; a run that is failed before then would not be retried.
SETTLED = 45.0


class WatchfulRunLauncher(DefaultRunLauncher):
    """Dagster's launcher with a health check of run processes."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(inst_data)
        self.gone_since: dict[str, float] = {}

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Return True: the daemon then checks every half minute."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Return RUNNING, or FAILED once the run has not been at work for `SETTLED` seconds."""
        if self.is_at_work(run):
            self.gone_since.pop(run.run_id, None)
            return ALIVE
        since = self.gone_since.setdefault(run.run_id, time.monotonic())
        return GONE if time.monotonic() - since >= SETTLED else ALIVE

    def get_run_worker_debug_info(
        self, run: DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """Return Dagster's own answer, but first tag the run with whether it will be retried.

        Dagster calls this just before it fails an orphaned or unstarted run, and sets the tag afterwards.
        A backfill that polls in between would find all its runs ended, fail, and refuse the retry.
        """
        if run.status != DagsterRunStatus.CANCELING:
            failed = run.with_status(DagsterRunStatus.FAILURE)
            will_retry = auto_reexecution_should_retry_run(self._instance, failed, None)
            self._instance.add_run_tags(run.run_id, {WILL_RETRY_TAG: str(will_retry).lower()})
        return super().get_run_worker_debug_info(run, include_container_logs)

    def is_at_work(self, run: DagsterRun) -> bool:
        """Return True if the run's process is alive here, or its code server can cancel the run.

        A run without a code server is headless and left to the process that started it: True. A code server
        that is unreachable is restarting (True), or at a socket of an `ldg dev` that has ended (False).
        """
        server = self._get_grpc_client_for_termination(run.run_id)
        if server is None or self.process_is_here(run):
            return True
        try:
            answer = server.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=5)
        except DagsterUserCodeUnreachableError:
            return server.socket is None
        return deserialize_value(answer, CanCancelExecutionResult).can_cancel

    def process_is_here(self, run: DagsterRun) -> bool:
        """Return True if the process id in the run's first engine event is alive here, for this home."""
        words = self._instance.all_logs(run.run_id, of_type=DagsterEventType.ENGINE_EVENT)
        for event in words:
            metadata = event.get_dagster_event().engine_event_data.metadata
            if "pid" in metadata:
                process = int(str(metadata["pid"].value))
                return is_alive(process) and is_of_this_home(process)
        return False


def is_of_this_home(process: int) -> bool:
    """Return True if a process has this one's DAGSTER_HOME, or if the system has no /proc to tell.

    After a reboot, the id of a run's process may belong to any other program.
    """
    try:
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except PermissionError:
        return False  # another user's process
    except FileNotFoundError:
        return True  # no /proc on this system
    return os.fsencode(f"DAGSTER_HOME={os.environ['DAGSTER_HOME']}") in environment.split(b"\0")
