"""A small archive on a real socket that can misbehave in every way the real one and the net between do."""

import hashlib
import socket
import struct
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Archive:
    """What the server holds, how it misbehaves next, and what was asked of it.

    `faults[name]` is a list: each request for the file takes the first fault off it; `always[name]` stays.
    A fault is a status code, or one of `reset`, `stall`, `short`, `trickle`, `wrong etag`, `no length`,
    `ignore range`, `wrong range`.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list] = field(default_factory=lambda: defaultdict(list))
    always: dict[str, object] = field(default_factory=dict)
    retry_after: str | None = None
    asked: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    sent_bytes: int = 0
    url: str = ""

    def requests_for(self, name):
        return [(headers, code) for asked, headers, code in self.asked if asked == name]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    archive: Archive

    def log_message(self, format, *args):  # noqa: A002 - the name is the base class's
        pass

    def answer(self, code, headers=None, body=b""):
        headers = {"Content-Length": str(len(body))} | (headers or {})
        self.archive.asked.append((self.path[1:], dict(self.headers), code))
        self.send_response(code)
        for key, value in headers.items():
            if value is not None:
                self.send_header(key, value)
        self.end_headers()
        self.archive.sent_bytes += len(body)
        self.wfile.write(body)

    def do_GET(self):
        archive, name = self.archive, self.path[1:]
        fault = archive.faults[name].pop(0) if archive.faults[name] else archive.always.get(name)
        if isinstance(fault, int):
            self.answer(fault, {"Retry-After": archive.retry_after}, b"<Error/>")
            return
        if name not in archive.files:
            self.answer(404, body=b"<Error><Code>NoSuchKey</Code></Error>")
            return
        body = archive.files[name]
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        if fault == "wrong etag":
            etag = f'"{hashlib.md5(b"other").hexdigest()}"'
        elif fault == "opaque etag":
            etag = '"v1-abc"'
        if self.headers.get("If-None-Match") == etag:
            self.answer(304, {"ETag": etag})
            return
        code, start = 200, 0
        asked_range = self.headers.get("Range")
        if asked_range and fault != "ignore range" and self.headers.get("If-Range") in (None, etag):
            code, start = 206, int(asked_range.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.answer(416, {"Content-Range": f"bytes */{len(body)}"})
                return
        rest = body[start:]
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Length": str(len(rest))}
        if code == 206:
            first = start + 1 if fault == "wrong range" else start
            headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
        if fault in {"reset", "stall", "short", "trickle"}:
            self.answer(code, headers, rest[: len(rest) // 2])
            self.misbehave(fault, rest[len(rest) // 2 :])
        elif fault == "no length":
            self.answer(code, headers | {"Content-Length": None, "Connection": "close"}, rest)
            self.close_connection = True
        else:
            self.answer(code, headers, rest)

    def misbehave(self, fault, rest):
        self.wfile.flush()
        self.close_connection = True
        if fault == "stall":
            self.connection.recv(1)  # nothing comes until the client hangs up
        elif fault == "trickle":
            for at in range(len(rest)):
                try:
                    self.wfile.write(rest[at : at + 1])
                except OSError:
                    return
                time.sleep(0.05)
        elif fault == "reset":
            # Lingering for zero seconds makes the kernel send a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is what some tests are about


def serve(archive):
    """Start serving on a free local port; returns the server, to be shut down by the caller."""
    handler = type("ArchiveHandler", (Handler,), {"archive": archive})
    server = QuietServer(("127.0.0.1", 0), handler)
    archive.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
