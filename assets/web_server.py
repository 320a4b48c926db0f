"""Dagster's web server, with protection from requests of other sites (CSRF and DNS rebinding).

`python -m assets.web_server WORKSPACE HOST PORT`. The UI has no password, so a foreign page in a browser on
this machine could start runs: by a request to 127.0.0.1, or to its own host name that resolves to 127.0.0.1.
"""

import socket
import sys
from collections.abc import Collection
from urllib.parse import urlsplit

import uvicorn
from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from dagster_webserver.version import __version__
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
EVERY_INTERFACE = ("0.0.0.0", "::", "")  # noqa: S104 - recognized, not bound
DATABASE = (15_000, 3600, 20)  # of PostgreSQL, as in `dagster-webserver`: milliseconds, seconds, connections
POLL_MILLISECONDS = 2000
LONGEST_END = 5  # seconds for open connections at shutdown


def serve(workspace: str, host: str, port: int) -> None:
    """Serve the UI of the code locations in a workspace file until this process is interrupted."""
    hosts = served_hosts(host, port, Settings.load().ui_hosts)
    with (
        DagsterInstance.get() as instance,
        WorkspaceProcessContext(instance, WorkspaceFileTarget([workspace]), __version__) as context,
        listen(host, port) as listener,
    ):
        instance.optimize_for_webserver(*DATABASE)
        app = create_app_from_workspace_process_context(context, live_data_poll_rate=POLL_MILLISECONDS)
        config = uvicorn.Config(
            OwnPagesOnly(app, hosts), log_level="warning", timeout_graceful_shutdown=LONGEST_END
        )
        sys.stderr.write(f"The UI is at http://{in_brackets(host)}:{port}\n")
        uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(address[:2], family=family)


def in_brackets(host: str) -> str:
    """Return a host as in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def served_hosts(host: str, port: int, more: Collection[str]) -> frozenset[str]:
    """Return the accepted Host headers of a server at this address, including `more`."""
    names = LOOPBACK if host in EVERY_INTERFACE else (*LOOPBACK, in_brackets(host).lower())
    return frozenset({*(f"{name}:{port}" for name in names), *(names if port == 80 else ()), *more})


class OwnPagesOnly:
    """ASGI middleware that lets through requests of the server's own pages and of programs.

    Programs such as curl send neither Origin nor Sec-Fetch-Site; browsers add them, and no page can
    change them. A link on another site may still open a page of this one.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app, or refuse it."""
        refusal = self.refuse(scope) if scope["type"] in {"http", "websocket"} else None
        if refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # not yet accepted: the client gets 403
        else:
            await refusal(scope, receive, send)

    def refuse(self, scope: Scope) -> PlainTextResponse | None:
        """Return the response that refuses a request, or None if it is allowed."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host.lower() not in self.hosts:
            return refused(
                421, f"The host {host!r} is not served here: name it in LDG_UI_HOSTS, port included."
            )
        origins = headers.getlist("origin")
        if any(urlsplit(origin).netloc.lower() not in self.hosts for origin in origins):
            return refused(
                403, f"Pages of {origins[0]!r} may not use this server: LDG_UI_HOSTS does not name it."
            )
        if not origins and headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            opens_a_page = (
                scope.get("method") == "GET"
                and headers.get("sec-fetch-mode") == "navigate"
                and headers.get("sec-fetch-dest") == "document"
            )
            if not opens_a_page:
                return refused(403, "Pages of other sites may not use this server.")
        is_query = scope["type"] == "http" and scope["path"] == "/graphql" and scope["method"] != "POST"
        if is_query and "text/html" not in headers.get("accept", ""):
            return refused(405, "GraphQL is answered by POST only: a link or an image must not start a run.")
        return None


def refused(status: int, sentence: str) -> PlainTextResponse:
    """Return a plain-text response that refuses a request."""
    return PlainTextResponse(sentence + "\n", status, {"X-Content-Type-Options": "nosniff"})


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
