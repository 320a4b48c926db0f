"""Tolerant inflation of an hour file in pieces: every byte that damaged gzip still yields."""

import re
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
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
HEAD_BYTES = 512  # bytes tried at a possible header; real headers are far shorter
UNJUDGED_BYTES = 16 << 20  # inflated bytes accepted from any file, whatever its ratio
LISTED_NOTES = 20


@dataclass(frozen=True)
class Limits:
    """Upper limits of a plausible hour file, beyond which reading stops or text counts as damage.

    `inflated_bytes` bounds the whole hour, `ratio` inflated to compressed bytes (applied beyond 16 MiB),
    `event_bytes` the text without a whole event or a line feed.
    """

    inflated_bytes: int = 16 << 30
    ratio: float = 200.0
    event_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        for name in ("inflated_bytes", "ratio", "event_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")


@dataclass
class Damage:
    """Defects of a file itself: the first `LISTED_NOTES` in words, the others only counted."""

    listed: list[str] = field(default_factory=list)
    unlisted: int = 0

    def add(self, note: str) -> None:
        """Record one defect."""
        if len(self.listed) < LISTED_NOTES:
            self.listed.append(note)
        else:
            self.unlisted += 1

    @property
    def notes(self) -> tuple[str, ...]:
        """The defects in words."""
        return (*self.listed, *([f"{self.unlisted:,} more such places"] if self.unlisted else []))


def inflate(path: Path, limits: Limits, damage: Damage) -> Iterator[bytes]:
    """Yield the file's text in pieces; add defects of the file itself to `damage`."""
    size = path.stat().st_size
    bound = min(limits.inflated_bytes, max(limits.ratio * size, UNJUDGED_BYTES))
    total = 0
    with path.open("rb") as file:
        head = file.read(2)
        file.seek(0)
        if not head:
            damage.add("empty file")
            return
        if head != MAGIC:
            damage.add("not gzip")
        members = head == MAGIC
        for piece in _members(file, size, damage) if members else iter(lambda: file.read(PIECE_BYTES), b""):
            total += len(piece)
            if total > bound:
                damage.add(f"stopped after {total:,} inflated bytes from {size:,}: more than the limit")
                return
            yield piece


def _members(file: BinaryIO, size: int, damage: Damage) -> Iterator[bytes]:
    """Yield the text of all members, broken ones as far as they can be inflated.

    The end of a broken member is unknown: it may have run far into others before the error shows. So the
    search for the next one starts just after its beginning, and some bytes are inflated again. To bound the
    work in a file of nested headers, the search starts behind the break once eight times the file's bytes
    were inflated in vain.
    """
    in_vain = 0
    start: int | None = 0
    while start is not None:
        end = yield from _member(file, start, damage)
        if isinstance(end, Break):
            in_vain += end.at - start
            overlapping = in_vain < 8 * size + READ_BYTES
            end = _next_member(file, start + 1 if overlapping else max(end.at, start + 1))
        start = end


@dataclass(frozen=True)
class Break:
    """Offset of the byte at which a member breaks."""

    at: int


def _member(file: BinaryIO, start: int, damage: Damage) -> Generator[bytes, None, int | Break | None]:
    """Inflate the member at `start`; return the offset of the next one, its `Break`, or None at the end."""
    file.seek(start)
    inflater = isal_zlib.decompressobj(GZIP)
    produced = 0
    pending = b""
    while not inflater.eof:
        if not pending:
            pending = file.read(READ_BYTES)
            if not pending:
                damage.add("gzip ends early")
                return Break(file.tell())
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
            damage.add(f"gzip broken near byte {read_from:,}: {error}")
            at = yield from _last_words(file, start, produced)
            return Break(at)
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
    damage.add(f"bytes that are not gzip after byte {after:,}")
    return _next_member(file, after)


def _last_words(file: BinaryIO, start: int, produced: int) -> Generator[bytes, None, int]:
    """Yield the rest of a broken member after its first `produced` bytes; return the offset of the break.

    A failing call discards what it had inflated, so its input is fed again in ever smaller parts.
    """
    inflater = zlib.decompressobj(GZIP)
    skip, position, step = produced, start, READ_BYTES
    while not inflater.eof:
        file.seek(position)
        part = file.read(step)
        if not part:
            break
        before = inflater.copy()
        try:
            words = inflater.decompress(part)
        except zlib.error:
            if len(part) == 1:
                yield _byte_by_byte(before, part)[skip:]
                break
            inflater, step = before, len(part) // 2
            continue
        yield words[skip:]
        skip = max(0, skip - len(words))
        position += len(part)
    return position


def _byte_by_byte(inflater: "zlib._Decompress", part: bytes) -> bytes:
    words = bytearray()
    try:
        words += inflater.decompress(part, 1)
        while more := inflater.decompress(inflater.unconsumed_tail, 1):
            words += more
    except zlib.error:
        pass  # expected: the bytes before the break are the result
    return bytes(words)


def _next_member(file: BinaryIO, position: int) -> int | None:
    """Return the offset of the next likely gzip member from `position` on, or None."""
    overlap = 3
    file.seek(position)
    window = file.read(READ_BYTES)
    while len(window) > overlap:
        search = 0
        while match := MEMBER.search(window, search):
            if _begins_member(window[match.start() : match.start() + HEAD_BYTES]):
                return position + match.start()
            search = match.start() + 1
        position += len(window) - overlap
        window = window[-overlap:] + file.read(READ_BYTES)
    return None


def _begins_member(head: bytes) -> bool:
    """Return whether the bytes from a magic number on inflate; most chance matches do not."""
    try:
        zlib.decompressobj(GZIP).decompress(head, 1)
    except zlib.error:
        return False
    return True
