"""How the UI starts runs: as Dagster does, and it notices when the process of a run is gone.

Dagster's own launcher leaves a run whose process was killed with its code server as started for ever,
with the slot it holds. Noticed, it is failed, and `run_retries` in dagster.yaml starts it again.
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
# Seconds until a run that is gone counts as gone. The daemon asks a code server that was started again for
# its assets every ten seconds until it has them; a run that is failed before that is not started again.
SETTLED = 45.0


class WatchfulRunLauncher(DefaultRunLauncher):
    """Dagster's launcher, which can also tell whether a run is alive."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(inst_data)
        self.gone_since: dict[str, float] = {}

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Yes: the daemon asks every half minute."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Whether the run is at work, as far as is known; gone only after a while without a sign of it."""
        if self.is_at_work(run):
            self.gone_since.pop(run.run_id, None)
            return ALIVE
        since = self.gone_since.setdefault(run.run_id, time.monotonic())
        return GONE if time.monotonic() - since >= SETTLED else ALIVE

    def get_run_worker_debug_info(
        self, run: DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """Nothing to tell, but Dagster asks just before it fails a run that is gone or has not started.

        It says only afterwards that the run is tried again. A backfill that looks in between finds all its
        runs ended, fails for good, and then refuses the retry. So it is said here, before.
        """
        if run.status != DagsterRunStatus.CANCELING:
            failed = run.with_status(DagsterRunStatus.FAILURE)
            will_retry = auto_reexecution_should_retry_run(self._instance, failed, None)
            self._instance.add_run_tags(run.run_id, {WILL_RETRY_TAG: str(will_retry).lower()})
        return super().get_run_worker_debug_info(run, include_container_logs)

    def is_at_work(self, run: DagsterRun) -> bool:
        """Whether the run's process is here, or its code server has it among those it could end.

        A run without a code server is a headless one: whoever started it looks after it. A server that cannot
        be reached is being started again and tells later; one at a socket belongs to an `ldg dev` that ended.
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
        """Whether the process that the run's first words name is alive on this machine."""
        words = self._instance.all_logs(run.run_id, of_type=DagsterEventType.ENGINE_EVENT)
        for event in words:
            metadata = event.get_dagster_event().engine_event_data.metadata
            if "pid" in metadata:
                process = int(str(metadata["pid"].value))
                return is_alive(process) and is_of_this_home(process)
        return False


def is_of_this_home(process: int) -> bool:
    """Whether a process is at work on the home of this one, as far as the system tells.

    Once a machine was started again, the number of a run's process may be that of any other program.
    """
    try:
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except PermissionError:
        return False  # somebody else's
    except FileNotFoundError:
        return True  # a system without such files
    return os.fsencode(f"DAGSTER_HOME={os.environ['DAGSTER_HOME']}") in environment.split(b"\0")
