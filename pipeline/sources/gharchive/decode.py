"""From an hour file to its events, streaming: blocks at once where they are clean, salvage where not."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.sources.gharchive.event import UNREADABLE, Event, decoder, is_event_type
from pipeline.sources.gharchive.inflate import Limits, inflate
from pipeline.sources.gharchive.salvage import BLANK, Fragment, Salvaged, fragments, salvage

LIMITS = Limits()
PATIENT_BYTES = (
    1 << 20
)  # text without a line's end is taken for one long event up to here, beyond it for damage


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


def decode(path: Path, damage: list[str], limits: Limits = LIMITS) -> Iterator[Block]:
    """Yield the events of an hour file block by block, in bounded memory, whatever is in the file.

    What is wrong with the file as a whole (broken gzip, a limit exceeded) is appended to `damage`.
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
        block = read_block(text[:end], offset) if end else _without_lines(text, offset, limits.event_bytes)
        if block is None:
            pieces, patience = [text], min(4 * gathered, limits.event_bytes + 1)
            continue
        patience = 0
        if not (end or block.events):
            damage.append(f"no event ends within {limits.event_bytes:,} bytes after byte {offset:,}")
            patience = limits.event_bytes + 1
        yield block
        offset += len(block.text)
        pieces, gathered = [text[len(block.text) :]], gathered - len(block.text)
    if rest := b"".join(pieces):
        yield read_block(rest, offset)


def read_block(text: bytes, offset: int) -> Block:
    """Read text that ends where an event ends, or where nothing more is to come."""
    if (events := _clean(text)) is not None:
        return Block(offset, text, events)
    block = Block(offset, text, [], [], [])
    for line in text.split(b"\n"):  # only a line feed ends a line: other whitespace may stand within one
        clean = _clean(line)
        if clean is not None and len(clean) == 1:
            kept = line.lstrip(BLANK)
            _add(block, Salvaged(offset + len(line) - len(kept), clean[0], kept.rstrip(BLANK)))
        else:
            for item in salvage(line, offset):
                _add(block, item)
        offset += len(line) + 1
    return block


def _add(block: Block, item: Salvaged | Fragment) -> None:
    if isinstance(item, Fragment):
        block.fragments.append(item)
    else:
        assert block.places is not None
        block.events.append(item.event)
        block.places.append((item.offset, item.text))


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
    """Read as much as can be told from text without a line's end; None while more of it is needed.

    Of text longer than `longest` without an event all but the last quarter is told to be none.
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
    items = list(salvage(text, offset))
    if any(isinstance(item, Salvaged) for item in items):
        while isinstance(items[-1], Fragment):
            items.pop()  # more of it may be to come
        text = text[: items[-1].offset + len(items[-1].text) - offset]
    elif len(text) > longest:
        text = text[: -(longest // 4)]  # an event may have begun shortly before the end
        items = list(fragments(text, offset))
    else:
        return None
    block = Block(offset, text, [], [], [])
    for item in items:
        _add(block, item)
    return block
