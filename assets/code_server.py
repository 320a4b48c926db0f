"""The code server of `ldg serve code`: Dagster's own, which loads the assets anew when the UI asks for it.

Runs that began before a reload stay with the server that started them. Dagster asks that one to end a run,
but the newest one whether it could: a run of before would then be taken for gone (`assets.launcher`).
"""

from typing import Any

import grpc
from dagster._cli.code_server import code_server_cli
from dagster._grpc import proxy_server
from dagster._grpc.types import CanCancelExecutionRequest
from dagster._serdes import deserialize_value


class ReloadingServer(proxy_server.DagsterProxyApiServicer):
    """Dagster's server, which also knows the runs of before a reload."""

    def CanCancelExecution(self, request: Any, context: Any) -> Any:  # noqa: N802, ANN401 - Dagster's signature
        """Ask the server that has the run; one that has ended has none."""
        cancel_request = deserialize_value(
            request.serialized_can_cancel_execution_request, CanCancelExecutionRequest
        )
        server = self._run_clients.get(cancel_request.run_id)
        if server is not None:
            try:
                return server._get_response("CanCancelExecution", request)
            except grpc.RpcError:
                self._run_clients.pop(cancel_request.run_id)
        return super().CanCancelExecution(request, context)


if __name__ == "__main__":
    vars(proxy_server)["DagsterProxyApiServicer"] = ReloadingServer  # what its command serves
    code_server_cli()
