"""Streaming decoder of hour files: clean blocks at once, damaged ones by salvage."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.sources.gharchive.event import UNREADABLE, Event, decoder, is_event_type
from pipeline.sources.gharchive.inflate import Damage, Limits, inflate
from pipeline.sources.gharchive.salvage import (
    BLANK,
    TYPE,
    Fragment,
    Salvaged,
    fragments,
    gaps,
    salvage,
    whole_events,
)

LIMITS = Limits()
# Text without a line feed, or with an event over many lines, is treated as one long event up to this size,
# beyond it as damage.
PATIENT_BYTES = 1 << 20
STRETCH_LINES = 16  # more consecutive lines without an event become one fragment


@dataclass
class Block:
    """The events of a stretch of text in its order, and its fragments that are not events."""

    offset: int
    text: bytes
    events: list[Event]
    fragments: list[Fragment] = field(default_factory=list)
    places: list[tuple[int, bytes]] | None = None

    def place(self, index: int) -> tuple[int, bytes]:
        """Return the offset and bytes of the event at `index`, located at the first call."""
        if self.places is None:
            self.places = _places(self.text, self.offset, len(self.events)) or [
                (item.offset, item.text)
                for item in salvage(self.text, self.offset)
                if isinstance(item, Salvaged)
            ]
        return self.places[index]


def decode(path: Path, damage: Damage, limits: Limits = LIMITS) -> Iterator[Block]:
    """Yield the events of an hour file block by block, in bounded memory for any content.

    Defects of the file as a whole (broken gzip, a limit exceeded) are added to `damage`.
    """
    offset = gathered = 0
    pieces: list[bytes] = []
    patience = 0  # how much text to gather before looking again for the end of an event
    for piece in inflate(path, limits, damage):
        pieces.append(piece)
        gathered += len(piece)
        if gathered < patience:
            continue
        text = b"".join(pieces)
        end = text.rfind(b"\n") + 1
        if end:
            patient = PATIENT_BYTES if gathered <= PATIENT_BYTES else PATIENT_BYTES // 4 - (gathered - end)
            block = read_block(text[:end], offset, patient)
        else:
            block = _without_lines(text, offset, limits.event_bytes)
        if block is None:
            pieces, patience = [text], min(4 * gathered, limits.event_bytes + 1)
            continue
        patience = 0
        if not (end or block.events):
            damage.add(f"no event ends within {limits.event_bytes:,} bytes after byte {offset:,}")
            patience = limits.event_bytes + 1
        yield block
        offset += len(block.text)
        pieces, gathered = [text[len(block.text) :]], gathered - len(block.text)
    if (rest := b"".join(pieces)) and (block := read_block(rest, offset)) is not None:
        yield block


def read_block(text: bytes, offset: int, patient: int = 0) -> Block | None:
    """Decode text that ends with a line or with the file.

    If an event of many lines may have begun in the last `patient` bytes, the block ends before it; return
    None if that leaves nothing.
    """
    if (events := _clean(text)) is not None:
        return Block(offset, text, events)
    salvaged = list(_events(text, offset))
    begin = salvaged[-1].end - offset if salvaged else 0
    text = text[: _unfinished(text, begin, patient)]
    return _block(text, offset, salvaged) if text else None


def _block(text: bytes, offset: int, salvaged: list[Salvaged]) -> Block:
    places = [(event.offset, event.text) for event in salvaged]
    block = Block(offset, text, [event.event for event in salvaged], [], places)
    for gap, at, _ in gaps(text, offset, salvaged):
        block.fragments += _between(gap, at)
    return block


def _events(text: bytes, offset: int) -> Iterator[Salvaged]:
    """Yield every whole event; those within a line take precedence over those that span lines in between.

    So a damaged line cannot absorb a whole event after it.
    """
    for gap, at, event in gaps(text, offset, _on_a_line(text, offset)):
        yield from _over_lines(gap, at)
        if event is not None:
            yield event


def _on_a_line(text: bytes, offset: int) -> Iterator[Salvaged]:
    """Yield every whole event within a line. Only a line feed ends a line, not other whitespace."""
    at = 0
    while match := TYPE.search(text, at):  # lines without a type are skipped
        begin = text.rfind(b"\n", at, match.start()) + 1 or at
        end = text.find(b"\n", match.end())
        at = end if end >= 0 else len(text)
        line = text[begin:at]
        clean = _clean(line)
        if clean is not None and len(clean) == 1:
            bare = line.lstrip(BLANK)
            yield Salvaged(offset + at - len(bare), clean[0], bare.rstrip(BLANK))
        else:
            yield from whole_events(line, offset + begin)


def _over_lines(text: bytes, offset: int) -> Iterator[Salvaged]:
    return whole_events(text, offset) if b"\n" in text else iter(())


def _between(text: bytes, offset: int) -> Iterator[Fragment]:
    """Yield the fragments between two events: one per line, or a single one for many lines."""
    if text.count(b"\n") > STRETCH_LINES:
        yield from fragments(text, offset)
        return
    for line in text.split(b"\n"):
        yield from fragments(line, offset)
        offset += len(line) + 1


def _unfinished(text: bytes, begin: int, patient: int) -> int:
    """Return where in the last `patient` bytes, from `begin` on, an event may begin; else the length."""
    earliest = max(begin, len(text) - max(patient, 0))
    brace = text.find(b"{", earliest)
    return len(text) if brace < 0 else max(earliest, text.rfind(b"\n", 0, brace) + 1)


def _clean(text: bytes) -> list[Event] | None:
    """Decode clean text, with or without line feeds between its events; None if it is not clean."""
    try:
        events = decoder.decode_lines(text)
    except UNREADABLE:
        return None
    types = {event.type for event in events}
    return events if all(map(is_event_type, types)) else None


def _places(text: bytes, offset: int, events: int) -> list[tuple[int, bytes]] | None:
    """Return offset and bytes of each event of clean text; None unless each has a line of its own."""
    places = []
    for line in text.split(b"\n"):
        if line and not line.isspace():
            places.append((offset, line))
        offset += len(line) + 1
    return places if len(places) == events else None


def _without_lines(text: bytes, offset: int, longest: int) -> Block | None:
    """Decode as much as possible of text without a line feed; return None if more text is needed.

    If text longer than `longest` has no event, all but its last `longest // 4` bytes becomes a fragment.
    """
    end = len(text)
    for _ in range(8):
        # A brace pair may be within a string; then the one before it is tried.
        end = text.rfind(b"}{", 0, end)
        if end < 0:
            break
        if (events := _clean(text[: end + 1])) is not None:
            return Block(offset, text[: end + 1], events)
    if len(text) < min(PATIENT_BYTES, longest):
        return None
    salvaged = list(whole_events(text, offset))
    if salvaged:
        text = text[: salvaged[-1].end - offset]  # the rest may be incomplete
    elif len(text) > longest:
        text = text[: -(longest // 4)]  # an event may have begun shortly before the end
    else:
        return None
    return _block(text, offset, salvaged)
