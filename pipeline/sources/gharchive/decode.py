"""From an hour file to its events, streaming: blocks at once where they are clean, salvage where not."""

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
# Text without a line's end, or with an event that many lines end within, is taken for one long event up to
# here, beyond it for damage.
PATIENT_BYTES = 1 << 20
STRETCH_LINES = 16  # more lines than these in a row that hold no event are one thing, not many


@dataclass
class Block:
    """The events of a stretch of text in its order, and what in it is not an event."""

    offset: int
    text: bytes
    events: list[Event]
    fragments: list[Fragment] = field(default_factory=list)
    places: list[tuple[int, bytes]] | None = None

    def place(self, index: int) -> tuple[int, bytes]:
        """Offset and bytes of the event at `index`: looked for only when somebody asks."""
        if self.places is None:
            self.places = _places(self.text, self.offset, len(self.events)) or [
                (item.offset, item.text)
                for item in salvage(self.text, self.offset)
                if isinstance(item, Salvaged)
            ]
        return self.places[index]


def decode(path: Path, damage: Damage, limits: Limits = LIMITS) -> Iterator[Block]:
    """Yield the events of an hour file block by block, in bounded memory, whatever is in the file.

    What is wrong with the file as a whole (broken gzip, a limit exceeded) is added to `damage`.
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
    """Read text that ends where a line ends, or where nothing more is to come.

    If an event of many lines may have begun in the last `patient` bytes, the block ends before it; None if
    nothing is left then.
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
    """Every whole event: first those that have a line, then those over several lines in what is between.

    In this order no damaged line can draw a whole one after it into what it takes for an event.
    """
    for gap, at, event in gaps(text, offset, _on_a_line(text, offset)):
        yield from _over_lines(gap, at)
        if event is not None:
            yield event


def _on_a_line(text: bytes, offset: int) -> Iterator[Salvaged]:
    """Every whole event within a line. Only a line feed ends one: other whitespace may stand in an event."""
    at = 0
    while match := TYPE.search(text, at):  # lines without a type are not even looked at
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
    """What stands between two events: line by line, unless there are many lines."""
    if text.count(b"\n") > STRETCH_LINES:
        yield from fragments(text, offset)
        return
    for line in text.split(b"\n"):
        yield from fragments(line, offset)
        offset += len(line) + 1


def _unfinished(text: bytes, begin: int, patient: int) -> int:
    """Where in the last `patient` bytes of `text`, but not before `begin`, an event may have begun."""
    earliest = max(begin, len(text) - max(patient, 0))
    brace = text.find(b"{", earliest)
    return len(text) if brace < 0 else max(earliest, text.rfind(b"\n", 0, brace) + 1)


def _clean(text: bytes) -> list[Event] | None:
    """All events of clean text, one after the other with or without line ends between, or None."""
    try:
        events = decoder.decode_lines(text)
    except UNREADABLE:
        return None
    types = {event.type for event in events}
    return events if all(map(is_event_type, types)) else None


def _places(text: bytes, offset: int, events: int) -> list[tuple[int, bytes]] | None:
    """Where the events of clean text are, if each has a line of its own."""
    places = []
    for line in text.split(b"\n"):
        if line and not line.isspace():
            places.append((offset, line))
        offset += len(line) + 1
    return places if len(places) == events else None


def _without_lines(text: bytes, offset: int, longest: int) -> Block | None:
    """Read as much as can be decided of text without a line's end; None while more of it is needed.

    Of text longer than `longest` without an event all but the last quarter counts as no event.
    """
    end = len(text)
    for _ in range(8):
        # A brace pair within a string is not where an event ends; the one before it may be.
        end = text.rfind(b"}{", 0, end)
        if end < 0:
            break
        if (events := _clean(text[: end + 1])) is not None:
            return Block(offset, text[: end + 1], events)
    if len(text) < min(PATIENT_BYTES, longest):
        return None
    salvaged = list(whole_events(text, offset))
    if salvaged:
        text = text[: salvaged[-1].end - offset]  # more of what follows may be to come
    elif len(text) > longest:
        text = text[: -(longest // 4)]  # an event may have begun shortly before the end
    else:
        return None
    return _block(text, offset, salvaged)
