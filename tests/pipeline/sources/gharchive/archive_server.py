"""A small archive on a real socket that can misbehave in every way the real one and the net between do."""

import gzip
import hashlib
import socket
import struct
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pipeline.sources.gharchive.fetch import FetchSettings

PAGE = b"<html><body>Please log in to continue</body></html>"


@dataclass
class Archive:
    """What the server holds, how it misbehaves next, and what was asked of it.

    `faults[name]` is a list: each request for the file takes the first fault off it; `always[name]` stays.
    A fault is a status code, or one of the names that `Handler` knows. `tags` says how files are tagged: by
    their `md5`, by an `opaque` tag that changes with them, by a `weak` one, or by `none`.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list] = field(default_factory=lambda: defaultdict(list))
    always: dict[str, int | str] = field(default_factory=dict)
    tags: str = "md5"
    more_headers: dict[str, str] = field(default_factory=dict)
    retry_after: str | None = None
    requests: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    sent_bytes: int = 0
    url: str = ""

    def requests_for(self, name):
        return [(headers, code) for file, headers, code in self.requests if file == name]

    def tag(self, body, fault=None):
        """The ETag of a file, or a wrong one."""
        digest = hashlib.md5(body).hexdigest()
        if fault == "wrong etag":
            return f'"{hashlib.md5(b"other").hexdigest()}"'
        if fault == "opaque etag":
            return '"v1-abc"'
        forms = {"md5": f'"{digest}"', "opaque": f'"v-{digest[:9]}"', "weak": f'W/"{digest[:9]}"'}
        return forms.get(self.tags)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    archive: Archive

    def log_message(self, format, *args):  # noqa: A002 - the name is the base class's
        pass

    def answer(self, code, headers=None, body=b""):
        headers = {"Content-Length": str(len(body))} | self.archive.more_headers | (headers or {})
        self.archive.requests.append((self.path[1:], dict(self.headers), code))
        self.send_response(code)
        for key, value in headers.items():
            if value is not None:
                self.send_header(key, value)
        self.end_headers()
        self.archive.sent_bytes += len(body)
        self.wfile.write(body)

    def do_GET(self):
        archive, name = self.archive, self.path[1:].partition("?")[0]
        fault = archive.faults[name].pop(0) if archive.faults[name] else archive.always.get(name)
        if isinstance(fault, int):
            self.answer(fault, {"Retry-After": archive.retry_after}, b"<Error/>")
        elif fault is not None and fault in WITHOUT_THE_FILE:
            WITHOUT_THE_FILE[fault](self)
        elif name not in archive.files:
            self.answer(404, body=b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self.give(archive.files[name], fault)

    def give(self, body, fault):
        """Answer with the file, or something that passes for it."""
        turn = len(self.archive.requests)
        if fault in DAMAGES:
            body = DAMAGES[fault](body, turn)
        etag = self.archive.tag(body, fault)
        if fault in ON_THE_WAY:
            body = ON_THE_WAY[fault](body, turn)
        if etag and self.headers.get("If-None-Match") == etag:
            self.answer(304, {"ETag": etag})
            return
        code, start = 200, 0
        asked_range = self.headers.get("Range")
        fresh = fault == "splice" or self.headers.get("If-Range") in (None, etag)
        if asked_range and fault != "ignore range" and fresh:
            code, start = 206, int(asked_range.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.answer(416, {"Content-Range": f"bytes */{len(body)}"})
                return
        rest = body[start:]
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Length": str(len(rest))}
        if fault in LENGTHS:
            headers["Content-Length"] = LENGTHS[fault]
        if code == 206:
            first = start + 1 if fault == "wrong range" else start
            total = len(body) + (7 if fault == "wrong total" else 0)
            headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{total}"
            if fault == "splice":
                headers["ETag"] = self.headers["If-Range"] if self.archive.tags == "md5" else etag
            if fault == "short range":
                rest = rest[: len(rest) // 2]
                headers["Content-Length"] = str(len(rest))
        if fault in {"reset", "stall", "short", "trickle"}:
            self.answer(code, headers, rest[: len(rest) // 2])
            self.misbehave(fault, rest[len(rest) // 2 :])
        elif fault in {"no length", "no length cut", "no length first member"}:
            rest = rest[: len(rest) // 2] if fault == "no length cut" else rest
            rest = (
                rest[: body.index(gzip.compress(b"")[:3], 3)] if fault == "no length first member" else rest
            )
            self.answer(code, headers | {"Content-Length": None, "Connection": "close"}, rest)
            self.close_connection = True
        elif fault == "slow headers":
            self.drip(f"HTTP/1.1 200 OK\r\nETag: {etag}\r\nX-Padding: {'x' * 10_000}".encode())
        elif fault == "endless":
            self.answer(code, headers | {"Content-Length": None, "Connection": "close"}, rest[:100])
            self.drip(rest[100:] * 10_000, 65_536, 0)
        elif fault == "slow chunks":
            self.answer(code, headers | {"Content-Length": None, "Transfer-Encoding": "chunked"})
            self.drip(b"0" * 10_000)
        else:
            self.answer(code, headers, rest)

    def misbehave(self, fault, rest):
        self.wfile.flush()
        self.close_connection = True
        if fault == "stall":
            self.connection.recv(1)  # nothing comes until the client hangs up
        elif fault == "trickle":
            self.drip(rest)
        elif fault == "reset":
            # Lingering for zero seconds makes the kernel send a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def redirect_endlessly(self):
        """Send the client to `login`, with a page that has no end."""
        self.answer(302, {"Location": "/login", "Content-Length": None, "Connection": "close"})
        self.drip(PAGE * 10_000, len(PAGE), 0.01)

    def drip(self, text, step=1, pause=0.05):
        """Send `text` little by little until the client hangs up, and never the end of it."""
        self.close_connection = True
        for at in range(0, len(text), step):
            try:
                self.wfile.write(text[at : at + step])
            except OSError:
                return
            time.sleep(pause)


def flipped(body, turn):
    """The file with a byte changed, another each turn; the header is left alone, parts of it mean nothing."""
    changed = bytearray(body)
    changed[10 + turn % (len(body) - 10)] ^= 8
    return bytes(changed)


def cut(body, turn):
    """The file without its end, more or less of it each turn."""
    return body[: len(body) - 1 - turn % (len(body) - 3)]


# Bodies that a server gives as if they were the file, with a length and a tag to match.
DAMAGES = {
    "flip": flipped,
    "cut": cut,
    "empty": lambda body, turn: b"",
    "page as file": lambda body, turn: PAGE,
    "empty gzip": lambda body, turn: gzip.compress(b""),
    "page in gzip": lambda body, turn: gzip.compress(PAGE),
}
# What the net between does to a body, with a length to match and the tag of the file as it is.
ON_THE_WAY = {"flipped on the way": flipped, "cut on the way": cut}
LENGTHS = {"huge length": str(10**15), "odd length": "\xb2\xb3", "negative length": "-5"}
# Answers that have nothing to do with what was asked for.
WITHOUT_THE_FILE = {
    "login": lambda handler: handler.answer(200, {"Content-Type": "text/html; charset=utf-8"}, PAGE),
    "packed login": lambda handler: handler.answer(
        200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, gzip.compress(PAGE)
    ),
    "redirects": lambda handler: handler.answer(302, {"Location": handler.path}, PAGE),
    "redirect to no address": lambda handler: handler.answer(302, {"Location": "http://[::bad"}, PAGE),
    "endless redirect": Handler.redirect_endlessly,
    "redirected login": lambda handler: handler.answer(302, {"Location": "/login"}, PAGE),
}


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is what some tests are about


@contextmanager
def serving(archive):
    """`archive` on a free local port, for as long as the block runs."""
    handler = type("ArchiveHandler", (Handler,), {"archive": archive})
    server = QuietServer(("127.0.0.1", 0), handler)
    archive.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield archive
    finally:
        server.shutdown()
        server.server_close()


def fast(archive, **more):
    """Settings that fetch from `archive` and lose patience soon."""
    settings = FetchSettings(base=archive.url, backoff=0.005, read_timeout=2.0, longest_wait=5.0)
    return replace(settings, **more)
