"""Dagster's commands, with code servers that keep track of runs across reloads and fork new runs.

`python -m assets.code_server` takes the arguments of `python -m dagster`; `ldg dev` and `ldg serve code`
start it. The servers that it starts run this module, too.

After a reload, running jobs stay on the old code server, but Dagster sends CanCancelExecution to the new one.
The request is forwarded; otherwise the run would appear orphaned (`assets.run_launcher`).
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
    """Dagster's proxy for reloadable code servers, which also answers for runs from before a reload."""

    def CanCancelExecution(self, request: Any, context: Any) -> Any:  # noqa: N802, ANN401 - Dagster's signature
        """Forward the request to the server that owns the run, or to the newest one if that has ended."""
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
    """Dagster's code server for one version of the code, whose runs and steps are forked to start fast.

    The fork server is started by the first run, because most servers of a single user start few runs.
    """

    def StartRun(self, request: Any, _context: Any) -> Any:  # noqa: N802, ANN401 - Dagster's signature
        """Start a run in a forked process, which reads the home's settings itself."""
        begin_imports()
        self._mp_ctx = PROCESSES
        return super().StartRun(request, _context)


def command_of(executable: str) -> list[str]:
    """Return the command that starts a server, without Dagster's own arguments."""
    return [executable, "-P", "-m", "assets.code_server"]  # -P: import nothing from the current folder


if __name__ == "__main__":
    limit_trainings(Settings.load())
    vars(proxy_server)["DagsterProxyApiServicer"] = ReloadingServer  # what `code-server start` serves
    vars(server)["DagsterApiServer"] = ForkingServer  # what `api grpc` serves
    vars(server)["get_python_environment_entry_point"] = command_of
    main()
elif __name__ == "__mp_main__" and START_METHOD == "forkserver":  # in a run's process, before the run begins
    fork_from_the_same()
