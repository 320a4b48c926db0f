"""Event identities, and the keys by which copies of an event are found."""

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from isal.isal_zlib import crc32

from pipeline.sources.gharchive.event import Actor, Event
from pipeline.sources.gharchive.remembered import Remembered

NO_ID = (None, "")
KEY_BYTES = 16
PLAIN_IDS = re.compile(r"[1-9][0-9]{0,17}+(?:\n[1-9][0-9]{0,17}+)*+")  # each fits into 64 bits


def event_identity(event: Event) -> bytes:
    """Return an event's 16-byte identity, from type, id and time, or from its content if it has no id."""
    if event.id in NO_ID:
        actor = event.actor.login if isinstance(event.actor, Actor) else event.actor
        repo = event.repo.name if event.repo is not None else None
        content = f"{event.type}\n{actor}\n{event.url}\n{event.created_at}\n{repo}".encode()
        # A checksum of the payload suffices: few events agree in everything else.
        return blake2b(content, digest_size=12).digest() + crc32(event.payload).to_bytes(4, "little")
    number = str(event.id)
    if PLAIN_IDS.fullmatch(number) and number.isdecimal():
        # A plain decimal id is a 64-bit word itself: only type and time, which many events share, are hashed.
        shared = _words[event.type] ^ _words[event.created_at]
        return (int(number) ^ shared).to_bytes(8) + shared.to_bytes(8)
    return blake2b(f"{event.type}\n{number}\n{event.created_at}".encode(), digest_size=16).digest()


def event_identities(events: Sequence[Event]) -> bytes:
    """Return the concatenated identities of events; vectorized if all ids are plain decimal numbers."""
    if events and events[0].id is None:  # as in all of the years without ids
        return b"".join(map(event_identity, events))
    ids = "\n".join([str(event.id) for event in events])
    if not (PLAIN_IDS.fullmatch(ids) and ids.count("\n") == len(events) - 1):
        return b"".join(map(event_identity, events))
    words = np.empty((len(events), 2), dtype=">u8")
    words[:, 1] = [_words[event.type] ^ _words[event.created_at] for event in events]
    words[:, 0] = np.fromstring(ids, dtype=np.uint64, sep="\n") ^ words[:, 1]
    return words.tobytes()


def copy_keys(events: Sequence[Event], ids: bytes) -> bytes:
    """Return the keys by which copies are found, sixteen bytes each, from the identities `ids`.

    With an id, the key is the identity. Without one, an event spliced onto another owner's repository is not
    a copy of the original and must not replace it: an owner that the event's URL does not contain is part of
    the key.
    """
    spliced = [
        (at, repository.owner)
        for at, event in enumerate(events)
        if (repository := event.repository) is not None
        and repository.owner
        and event.id is None
        and repository.owner not in (event.url or "")
    ]
    if not spliced:
        return ids
    keys = bytearray(ids)
    for at, owner in spliced:
        tail = slice(KEY_BYTES * at + 12, KEY_BYTES * at + 16)
        keys[tail] = crc32(owner.encode(), int.from_bytes(keys[tail])).to_bytes(4)
    return bytes(keys)


def _word(text: str | None) -> int:
    return int.from_bytes(blake2b(f"{text}".encode(), digest_size=8).digest())


_words = Remembered(_word)
