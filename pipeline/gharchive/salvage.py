"""Recovering whole events from damaged text: glued, cut, NUL-ridden or broken in its encoding."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from pipeline.gharchive.event import Event, decoder, event_from, is_event_type

OBJECT = re.compile(r'\{\s*"')
EFFORT = 32  # how often text is gone over at most: nested deeper than events are, it is no longer searched
HOPELESS_BYTES = 1 << 22  # a text longer than this is one in whose halves no event was found
BLANK = b" \t\r\n"
_scan = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Fragment:
    """Bytes that are not an event, where they are in the inflated file, and why they are not."""

    offset: int
    reason: str
    text: bytes


@dataclass(frozen=True)
class Salvaged:
    """A whole event and the bytes it was in."""

    offset: int
    event: Event
    text: bytes


def salvage(text: bytes, offset: int) -> Iterator[Salvaged | Fragment]:
    """Yield every whole event in `text` and, in between, all that is not one; only blanks are left out.

    `offset` is where `text` begins in the inflated file.
    """
    # One character a byte: positions in the string are positions in the bytes, and JSON's syntax is ASCII.
    string = text.decode("latin-1")
    begin = search = 0
    effort = EFFORT * min(len(text), HOPELESS_BYTES) + (1 << 20)
    while effort > 0 and (match := OBJECT.search(string, search)):
        start = match.start()
        search = start + 1
        try:
            value, end = _scan(string, start)
        except json.JSONDecodeError as error:
            effort -= error.pos - start + error.pos // 256  # an error counts the lines before it
            continue
        except (ValueError, RecursionError):  # a number too long, or a depth no event has
            effort -= 100_000
            continue
        effort -= end - start
        event = read_event(text[start:end]) if is_event_type(value.get("type")) else None
        if event is None:
            continue
        yield from _fragments(text[begin:start], offset + begin)
        yield Salvaged(offset + start, event, text[start:end])
        begin = search = end
    yield from _fragments(text[begin:], offset + begin)


def read_event(text: bytes) -> Event | None:
    """The event that `text` is, or None: strictly if it can be, else with the odd parts taken as absent."""
    try:
        event = decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or not is_event_type(value.get("type")):
            return None
        return event_from(value)
    return event if is_event_type(event.type) else None


def _fragments(text: bytes, offset: int) -> Iterator[Fragment]:
    kept = text.lstrip(BLANK)
    offset += len(text) - len(kept)
    kept = kept.rstrip(BLANK)
    if kept:
        yield Fragment(offset, _reason(kept), kept)


def _reason(text: bytes) -> str:
    if not text.strip(BLANK + b"\0"):
        return "NUL bytes"
    if text.startswith(b"<"):
        return "XML or HTML, not an event"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "cut event" if b'"' in text else "not JSON"
    return "JSON, but not an event"
