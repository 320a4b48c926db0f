"""A file that has not fully arrived: locked while somebody works on it, kept while it can be resumed."""

import fcntl
import json
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from pipeline.lake import replacing, write_json

CHUNK_BYTES = 1 << 18
SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(frozen=True)
class Origin:
    """What the bytes of a part belong to: an address, the version of the file there and its length."""

    address: str
    etag: str | None
    total: int | None

    @property
    def resumable(self) -> bool:
        """Whether the rest can be asked for: a weak ETag promises the same meaning, not the same bytes."""
        return bool(self.etag) and not str(self.etag).startswith("W/")


class Part:
    """The bytes that came so far of the file that belongs at `target`, and beside them their origin."""

    def __init__(self, target: Path, file: BinaryIO) -> None:
        self.target = target
        self.file = file
        self.path = part_path(target)
        self.note = self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """How many bytes came so far."""
        return os.fstat(self.file.fileno()).st_size

    def origin(self) -> Origin | None:
        """What the bytes belong to, or None if there are none or nobody can tell."""
        try:
            values = json.loads(self.note.read_text(encoding="utf-8"))
            origin = Origin(str(values["address"]), str(values["etag"]), values["total"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        known_length = origin.total is None or isinstance(origin.total, int)
        return origin if self.size and known_length else None

    def begin(self, origin: Origin) -> None:
        """Start anew with the bytes of `origin`."""
        self.clear()
        if origin.resumable:
            write_json(asdict(origin), self.note)

    def append(self, piece: bytes) -> None:
        """Add what arrived, at once: a broken connection loses none of it."""
        left = memoryview(piece)
        while left:
            left = left[self.file.write(left) :]

    def pieces(self) -> Iterator[bytes]:
        """The bytes that came so far, in their order."""
        self.file.seek(0)
        while piece := self.file.read(CHUNK_BYTES):
            yield piece

    def clear(self) -> None:
        """Forget what came so far; the note goes first: bytes without one are never resumed."""
        self.note.unlink(missing_ok=True)
        self.file.truncate(0)

    def place(self) -> None:
        """Let the bytes take their place at `target`, on the disk before they are seen there."""
        with replacing(self.target) as temporary:
            self.path.replace(temporary)
        self.file.close()  # nothing can be done any more to what has its place
        self.note.unlink(missing_ok=True)

    def leave(self) -> None:
        """Remove what cannot be resumed."""
        if self.origin() is None:
            self.note.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)


def part_path(target: Path) -> Path:
    """Where the bytes of a file that has not fully arrived are."""
    return target.with_name(f".{target.name}.part")


@contextmanager
def locked_part(target: Path, patience: float) -> Generator[Part]:
    """The part of `target`, which no other thread or process works on meanwhile.

    Whoever comes second waits up to `patience` seconds. The lock ends with the process that holds it, so that
    what a killed one leaves behind is resumed or removed by the next.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target, patience), part_path(target).open("a+b", buffering=0) as file:
        part = Part(target, file)
        try:
            yield part
        finally:
            part.leave()


@contextmanager
def _lock(target: Path, patience: float) -> Generator[None]:
    path = target.with_name(f".{target.name}.lock")
    deadline = time.monotonic() + patience
    while True:
        with path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process is at work on {target.name}") from None
            else:
                if _is_at(file, path):  # else whoever had it has removed it meanwhile
                    try:
                        yield
                    finally:
                        path.unlink()  # before it is let go of
                    return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
