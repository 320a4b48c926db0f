"""An archive in a process of its own: `python -m tests.end_to_end.published_archive FOLDER PORT`.

It publishes what lies in the folder, as the real one does, with ETags. `asked.log` beside the folder has one
line for every answer.
"""

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    """Answers from `folder`."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Write nothing to the terminal."""

    def do_GET(self) -> None:
        """A file, or why not."""
        path = self.folder / self.path.strip("/")
        if not path.is_file():
            self.answer(404)
        else:
            body = path.read_bytes()
            etag = f'"{hashlib.md5(body).hexdigest()}"'
            is_held = self.headers.get("If-None-Match") == etag
            self.answer(304 if is_held else 200, b"" if is_held else body, etag)

    def answer(self, code: int, body: bytes = b"", etag: str = "") -> None:
        """Answer, and note it."""
        with (self.folder.parent / "asked.log").open("a") as log:
            log.write(f"{self.path.strip('/')} {code}\n")
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)


def main(folder: Path, port: int) -> None:
    """Serve until killed."""
    handler = type("PublishedHandler", (Handler,), {"folder": folder})
    ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
