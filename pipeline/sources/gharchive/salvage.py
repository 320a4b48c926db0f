"""Recovery of whole events from damaged text: joined, truncated, with NUL bytes or invalid UTF-8."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.sources.gharchive.event import UNREADABLE, Event, decoder, event_from, is_event_type, loosely

BLANK = b" \t\r\n"
LIST_MARKS = frozenset({b"[", b",", b"]"})  # punctuation of events written as a JSON list
DEEPEST = 500  # nesting levels below an object; deeper JSON is not read

# JSON's grammar, with possessive quantifiers throughout: no backtracking.
_BLANK = rb"[ \t\r\n]*+"
_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = rb"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+"
_SCALAR = rb"(?:%b|%b|true|false|null|NaN|-?+Infinity)" % (_STRING, _NUMBER)
_KEY = rb"%b(%b)%b:%b" % (_BLANK, _STRING, _BLANK, _BLANK)
_OTHER_KEY = rb'%b(?!"type")%b%b:%b' % (_BLANK, _STRING, _BLANK, _BLANK)
OBJECT = re.compile(rb"\{%b" % _KEY)
TYPE = re.compile(rb'"type"%b:%b"[^"\\]*+(?<=Event)"' % (_BLANK, _BLANK))
MARK = re.compile(rb"%b([,}\]])" % _BLANK)
# Scalar members up to the next "type", and one member more: its key, its scalar or its opening bracket.
MEMBERS = re.compile(rb"(?:%b%b%b,)*+%b(?:(%b)|([{\[]))" % (_OTHER_KEY, _SCALAR, _BLANK, _KEY, _SCALAR))
ELEMENTS = re.compile(rb"(?:%b%b%b,)*+%b(?:%b|([{\[]))" % (_BLANK, _SCALAR, _BLANK, _BLANK, _SCALAR))


@dataclass(frozen=True)
class Fragment:
    """Bytes that are not an event, their offset in the inflated file, and the reason."""

    offset: int
    reason: str
    text: bytes


@dataclass(frozen=True)
class Salvaged:
    """A whole event and the bytes it was in."""

    offset: int
    event: Event
    text: bytes

    @property
    def end(self) -> int:
        """Offset of the first byte after the event."""
        return self.offset + len(self.text)


def salvage(text: bytes, offset: int) -> Iterator[Salvaged | Fragment]:
    """Yield every whole event in `text` and the fragments in between, without blanks and list marks.

    `offset` is where `text` begins in the inflated file.
    """
    for gap, at, event in gaps(text, offset, whole_events(text, offset)):
        yield from fragments(gap, at)
        if event is not None:
            yield event


def gaps(
    text: bytes, offset: int, events: Iterable[Salvaged]
) -> Iterator[tuple[bytes, int, Salvaged | None]]:
    """Yield each gap between `events` in `text`, its offset, and the event that ends it (None: the end)."""
    begin = 0
    for event in events:
        yield text[begin : event.offset - offset], offset + begin, event
        begin = event.end - offset
    yield text[begin:], offset + begin, None


def whole_events(text: bytes, offset: int) -> Iterator[Salvaged]:
    """Yield every whole event in `text`, which begins at `offset` in the inflated file.

    The time is linear for any text: each byte is scanned at most twice, once as part of a string.
    """
    search = type_at = 0
    followed = bytearray()  # starts of objects that were scanned already
    ends: dict[int, int] = {}  # start → end of objects that look like events
    while match := OBJECT.search(text, search):
        start = match.start()
        search = start + 1
        if type_at < search:
            type_match = TYPE.search(text, search)
            if type_match is None:
                break  # no event without a type
            type_at = type_match.start()
        followed = followed or bytearray(len(text))
        if not followed[start]:
            _follow(text, start, followed, ends)
        end = ends.pop(start, None)
        event = salvaged_event(text[start:end]) if end is not None else None
        if end is None or event is None:
            continue
        yield Salvaged(offset + start, event, text[start:end])
        search = end


def _follow(text: bytes, start: int, followed: bytearray, ends: dict[int, int]) -> None:
    """Scan the object at `start` as far as it is JSON; record objects met and the ends of likely events.

    An object that is open where the text stops being JSON is invalid wherever the scan starts.
    """
    followed[start] = True
    # Stack of open brackets: an object's start (-1: an array), whether it looks like an event, its depth.
    starts, events, depths = [start], [False], [0]
    at = start + 1
    after = "comma"  # or "opening", "value"
    while starts:
        if after != "comma":
            mark = MARK.match(text, at)
            if mark is not None and mark[1] != b",":
                if (mark[1] == b"}") == (starts[-1] < 0):
                    return
                at = mark.end()
                opened, is_event, depth = starts.pop(), events.pop(), depths.pop()
                if is_event and depth <= DEEPEST:
                    ends[opened] = at
                if depths:
                    depths[-1] = max(depths[-1], depth + 1)
                after = "value"
                continue
            if after == "value":
                if mark is None:
                    return
                at = mark.end()
        inside = (ELEMENTS if starts[-1] < 0 else MEMBERS).match(text, at)
        if inside is None:
            return
        at = inside.end()
        if starts[-1] >= 0 and inside[1] == b'"type"':
            events[-1] = (inside[2] or b"").endswith(b'Event"')
        opening = inside[inside.re.groups]
        after = "opening" if opening else "value"
        if opening:
            starts.append(at - 1 if opening == b"{" else -1)
            events.append(False)
            depths.append(0)
            if opening == b"{":
                followed[at - 1] = True
            if len(starts) > 2 * DEEPEST:  # the outer half is too deep already
                del starts[:DEEPEST], events[:DEEPEST], depths[:DEEPEST]


def salvaged_event(text: bytes) -> Event | None:
    """Decode `text` as an event, strictly or else with malformed fields as absent; None if it is not one."""
    try:
        event = decoder.decode(text)
    except UNREADABLE:
        try:
            return event_from(loosely(text))
        except UNREADABLE:
            return None
    return event if is_event_type(event.type) else None


def fragments(text: bytes, offset: int) -> Iterator[Fragment]:
    """Yield `text`, stripped of blanks, as a fragment.

    Yield nothing for empty text or a single list mark: events may be written as a JSON list.
    """
    bare = text.lstrip(BLANK)
    offset += len(text) - len(bare)
    bare = bare.rstrip(BLANK)
    if bare and bare not in LIST_MARKS:
        yield Fragment(offset, _reason(bare), bare)


def _reason(text: bytes) -> str:
    if not text.strip(BLANK + b"\0"):
        return "NUL bytes"
    if text.startswith(b"<"):
        return "XML or HTML, not an event"
    try:
        loosely(text)
    except UNREADABLE:
        return "cut event" if b'"' in text else "not JSON"
    return "JSON, but not an event"
