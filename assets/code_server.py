"""Dagster's commands, with code servers that know the runs of before a reload, and fork those they start.

`python -m assets.code_server` takes what `python -m dagster` does; `ldg dev` and `ldg serve code` start it.
Every server that it starts is one of these as well.

Runs that began before a reload stay with the server that started them. Dagster asks that one to end a run,
but the newest one whether it could: a run of before would then be taken for gone (`assets.run_launcher`).
"""

from typing import Any

import grpc
from dagster._cli import main
from dagster._grpc import proxy_server, server
from dagster._grpc.types import CanCancelExecutionRequest
from dagster._serdes import deserialize_value

from assets.dagster_home import limit_trainings
from assets.forks import PROCESSES, START_METHOD, begin_imports, fork_from_the_same
from pipeline.settings import Settings


class ReloadingServer(proxy_server.DagsterProxyApiServicer):
    """Dagster's server before that of one state of the code, which also knows the runs of before a reload."""

    def CanCancelExecution(self, request: Any, context: Any) -> Any:  # noqa: N802, ANN401 - Dagster's signature
        """Ask the server that has the run; one that has ended has none."""
        cancel_request = deserialize_value(
            request.serialized_can_cancel_execution_request, CanCancelExecutionRequest
        )
        its_server = self._run_clients.get(cancel_request.run_id)
        if its_server is not None:
            try:
                return its_server._get_response("CanCancelExecution", request)
            except grpc.RpcError:
                self._run_clients.pop(cancel_request.run_id)
        return super().CanCancelExecution(request, context)


class ForkingServer(server.DagsterApiServer):
    """Dagster's server of one state of the code, whose runs and their steps are forks: they begin at once.

    Nothing is imported for them before the first one is wanted: most servers of a person start few.
    """

    def StartRun(self, request: Any, _context: Any) -> Any:  # noqa: N802, ANN401 - Dagster's signature
        """Fork the run's process; each reads the home's settings itself."""
        begin_imports()
        self._mp_ctx = PROCESSES
        return super().StartRun(request, _context)


def command_of(executable: str) -> list[str]:
    """What a server is started with, before Dagster's own arguments."""
    return [executable, "-P", "-m", "assets.code_server"]  # -P: import nothing from the current folder


if __name__ == "__main__":
    limit_trainings(Settings.load())
    vars(proxy_server)["DagsterProxyApiServicer"] = ReloadingServer  # what `code-server start` serves
    vars(server)["DagsterApiServer"] = ForkingServer  # what `api grpc` serves
    vars(server)["get_python_environment_entry_point"] = command_of
    main()
elif __name__ == "__mp_main__" and START_METHOD == "forkserver":  # in the process of a run, before it begins
    fork_from_the_same()
