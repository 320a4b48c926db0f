"""Inflating an hour file in pieces: every byte that can be had from gzip, whatever happened to it."""

import re
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

IsalError: type[Exception] = isal_zlib.error  # ty: ignore[invalid-assignment] - its stub says instance
GZIP = 31  # zlib's window bits for "a gzip member"
MAGIC = b"\x1f\x8b"
MEMBER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
# Small pieces stay in the processor's cache and in memory already mapped: twice as fast as large ones.
READ_BYTES = 16_384
PIECE_BYTES = 100_000


@dataclass(frozen=True)
class Limits:
    """What no honest hour exceeds: beyond it a file is stopped, not believed.

    `inflated_bytes` bounds the whole hour, `ratio` inflated against compressed bytes (judged beyond 64 MiB),
    `event_bytes` what may pass without a whole event or a line's end.
    """

    inflated_bytes: int = 16 << 30
    ratio: float = 200.0
    event_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        for name in ("inflated_bytes", "ratio", "event_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")


def inflate(path: Path, limits: Limits, damage: list[str]) -> Iterator[bytes]:
    """Yield the file's text in pieces; what is wrong with the file itself is appended to `damage`."""
    size = path.stat().st_size
    bound = min(limits.inflated_bytes, max(limits.ratio * size, 64 << 20))
    total = 0
    with path.open("rb") as file:
        head = file.read(2)
        file.seek(0)
        if not head:
            damage.append("empty file")
            return
        if head != MAGIC:
            damage.append("not gzip")
        for piece in _members(file, damage) if head == MAGIC else iter(lambda: file.read(PIECE_BYTES), b""):
            total += len(piece)
            if total > bound:
                damage.append(f"stopped after {total:,} inflated bytes from {size:,}: more than the limit")
                return
            yield piece


def _members(file: BinaryIO, damage: list[str]) -> Iterator[bytes]:
    start: int | None = 0
    while start is not None:
        start = yield from _member(file, start, damage)


def _member(file: BinaryIO, start: int, damage: list[str]) -> Generator[bytes, None, int | None]:
    """Inflate the member at `start`; return where the next one begins, if there is one."""
    file.seek(start)
    inflater = isal_zlib.decompressobj(GZIP)
    produced = 0
    pending = b""
    while not inflater.eof:
        if not pending:
            pending = file.read(READ_BYTES)
            if not pending:
                damage.append("gzip ends early")
                return None
        read_from = file.tell() - len(pending)
        try:
            piece = inflater.decompress(pending, PIECE_BYTES)
            while len(piece) and not inflater.eof and not inflater.unconsumed_tail:
                more = inflater.decompress(b"", PIECE_BYTES)
                if not more:
                    break
                produced += len(piece)
                yield piece
                piece = more
        except IsalError as error:
            damage.append(f"gzip broken near byte {read_from:,}: {error}")
            yield from _last_words(file, start, produced)
            return _next_member(file, max(read_from, start + 1))
        produced += len(piece)
        pending = inflater.unconsumed_tail
        if piece:
            yield piece
    after = file.tell() - len(inflater.unused_data)
    file.seek(after)
    while (tail := file.read(READ_BYTES)) and not tail.strip(b"\0"):
        after += len(tail)
    if not tail:
        return None
    after += len(tail) - len(tail.lstrip(b"\0"))
    file.seek(after)
    if file.read(2) == MAGIC:
        return after
    damage.append(f"bytes that are not gzip after byte {after:,}")
    return _next_member(file, after)


def _last_words(file: BinaryIO, start: int, produced: int) -> Iterator[bytes]:
    """What a broken member still says after its first `produced` bytes, up to the very byte that breaks it.

    A failing call keeps what it had inflated to itself, so the last chunk is fed byte by byte.
    """
    file.seek(start)
    inflater = zlib.decompressobj(GZIP)
    skip = produced
    while chunk := file.read(READ_BYTES):
        before = inflater.copy()
        try:
            piece = inflater.decompress(chunk)
        except zlib.error:
            piece = _byte_by_byte(before, chunk)
            chunk = b""
        yield piece[skip:]
        skip = max(0, skip - len(piece))
        if not chunk or inflater.eof:
            return


def _byte_by_byte(inflater: "zlib._Decompress", chunk: bytes) -> bytes:
    words = bytearray()
    try:
        for at in range(len(chunk)):
            words += inflater.decompress(chunk[at : at + 1], 1)
            while more := inflater.decompress(inflater.unconsumed_tail, 1):
                words += more
    except zlib.error:
        pass  # the byte that breaks the stream: what came before it is what was asked for
    return bytes(words)


def _next_member(file: BinaryIO, position: int) -> int | None:
    """Where the next gzip member seems to begin, from `position` on."""
    overlap = 3
    file.seek(position)
    window = file.read(READ_BYTES)
    while len(window) > overlap:
        if match := MEMBER.search(window):
            return position + match.start()
        position += len(window) - overlap
        window = window[-overlap:] + file.read(READ_BYTES)
    return None
