"""A deadline over a whole HTTP exchange: headers, redirects and body.

A socket's own timeout bounds each silence, not a server that sends a byte now and then. So a timer shuts the
socket, wherever the exchange is. `requests` shows a connection only after its headers; hence the subclass.
"""

import threading
from contextlib import suppress
from socket import SHUT_RDWR, socket
from typing import Any, Self

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection

exchanges = threading.local()  # attribute `deadline`: that of this thread's exchange


class Deadline:
    """Context that bounds an exchange of a `watched_session` in this thread to `seconds` in all."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        self.socket: socket | None = None
        self.timer = threading.Timer(seconds, self.shut)
        self.timer.daemon = True

    def __enter__(self) -> Self:
        exchanges.deadline = self
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()

    def watch(self, used: socket | None) -> None:
        """Set the socket to shut; if the time is over, shut it now."""
        self.socket = used
        if self.passed:
            self.shut()

    def shut(self) -> None:
        """End the exchange by shutting its socket."""
        self.passed = True
        if self.socket is not None:
            with suppress(OSError):  # the server may have been faster
                self.socket.shutdown(SHUT_RDWR)

    def check(self) -> None:
        """Raise if the time is over: a body without a length seems to end when its socket is shut."""
        if self.passed:
            raise TimeoutError(f"not done within {self.seconds:g} s")


class WatchedConnection(HTTPConnection):
    """A connection whose socket its thread's deadline can shut, even before the headers arrive."""

    def getresponse(self) -> urllib3.HTTPResponse:
        """Pass the socket to the deadline, and return the response with its headers."""
        exchanges.deadline.watch(self.sock)
        return super().getresponse()


class WatchedAdapter(HTTPAdapter):
    """The transport of `requests` over watched connections: plain ones, TLS, and those to a proxy."""

    def get_connection_with_tls_context(self, *arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - handed on
        """Return the pool for a request, with watched connections."""
        pool = super().get_connection_with_tls_context(*arguments, **more)
        if not issubclass(pool.ConnectionCls, WatchedConnection):
            pool.ConnectionCls = type("Watched", (WatchedConnection, pool.ConnectionCls), {})
        return pool


def watched_session() -> requests.Session:
    """Return a session whose exchanges each need an entered `Deadline`."""
    session = requests.Session()
    session.mount("http://", WatchedAdapter())
    session.mount("https://", WatchedAdapter())
    return session
