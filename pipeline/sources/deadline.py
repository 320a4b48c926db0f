"""A deadline over a whole HTTP exchange: connecting, headers, redirects and body.

A socket's own timeout bounds each silence, so a server that sends a byte now and then is never given up. Here
every connection of the exchange is shut down when its time is over, wherever the exchange is.
"""

import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_here = threading.local()


class Deadline:
    """While entered, bounds what the sessions of `watched_session` do in this thread to `seconds` in all."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        _here.deadline = self
        self._timer.start()
        return self

    def __exit__(
        self, error: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        _here.deadline = None
        with self._lock:
            for watched in self._sockets:
                watched.close()
            self._sockets.clear()

    def check(self) -> None:
        """Raise if the time is over: a body without a length seems to end when its connection is shut."""
        if self.passed:
            raise TimeoutError(f"not done within {self.seconds:g} s")

    def watch(self, connected: socket.socket) -> None:
        """Shut `connected` down when the time is over."""
        # A descriptor of its own: TLS takes the socket's away, and a closed one's number may be given anew.
        own = socket.socket(fileno=os.dup(connected.fileno()))
        with self._lock:
            self._sockets.append(own)
            if self.passed:
                _shut(own)

    def _pass(self) -> None:
        with self._lock:
            self.passed = True
            for watched in self._sockets:
                _shut(watched)


def _shut(connected: socket.socket) -> None:
    with suppress(OSError):  # the other side may have been faster
        connected.shutdown(socket.SHUT_RDWR)


def _watch(connected: socket.socket | None) -> None:
    deadline: Deadline | None = getattr(_here, "deadline", None)
    if deadline is not None and connected is not None:
        deadline.watch(connected)


class _Watched(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        connected = super()._new_conn()
        _watch(connected)  # before the TLS handshake
        return connected

    def request(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - handed on as they are
        _watch(self.sock)  # of a connection that was kept open
        super().request(*arguments, **more)


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched  # ty: ignore[invalid-assignment] - its protocol wants more than its own class has


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTls  # ty: ignore[invalid-assignment] - the same


POOLS: dict[str, Any] = {"http": _Pool, "https": _TlsPool}


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - handed on as they are
        super().init_poolmanager(*arguments, **more)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:  # noqa: ANN401 - requests' own signature
        manager = super().proxy_manager_for(proxy, **more)
        manager.pool_classes_by_scheme = POOLS
        return manager


def watched_session() -> requests.Session:
    """A session whose exchanges end when the `Deadline` of their thread says so."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return session
