"""The seal of a stored thing: a small manifest that lists its files and says whether the upload is complete.

Seals are written conditionally on the version that was read (compare-and-swap), so one of two concurrent
writers fails. A writer opens the seal, uploads the files and closes the seal. Readers treat a thing with an
open seal, or with files that differ from it, as incomplete.
"""

import os
import socket
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pipeline.storage.things import Thing

SEALS = "seals"


class SealedFile(msgspec.Struct, frozen=True):
    """A published file: size, hash and ETag."""

    bytes: int
    sha256: str
    etag: str  # assigned by the storage

    def is_like(self, other: "SealedFile | None") -> bool:
        """Return True if both have the same size and hash."""
        return other is not None and (self.bytes, self.sha256) == (other.bytes, other.sha256)


class Seal(msgspec.Struct, frozen=True):
    """The manifest of a thing. While open: the files in place, and in `unsure` others that may be stored."""

    is_open: bool
    by: str  # the home that wrote it, see seal_owner
    at: str  # the writer's clock, for messages only
    turn: str  # random, so that every written seal differs
    files: dict[str, SealedFile]
    unsure: list[str] = []

    @classmethod
    def written(
        cls, home: Path, files: Mapping[str, SealedFile], *, is_open: bool, unsure: Iterable[str] = ()
    ) -> "Seal":
        """Return a seal of `home` with the present time."""
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        in_place = dict(sorted(files.items()))
        return cls(is_open, seal_owner(home), now, uuid.uuid4().hex, in_place, sorted(unsure))

    @classmethod
    def read(cls, data: bytes) -> "Seal":
        """Decode a stored seal; raise msgspec.MsgspecError if it is invalid."""
        return seal_decoder.decode(data)

    def encoded(self) -> bytes:
        """Return the seal as formatted JSON."""
        return msgspec.json.format(msgspec.json.encode(self))

    def __str__(self) -> str:
        return f"{self.by} at {self.at}"


seal_decoder = msgspec.json.Decoder(Seal)


def seal_key(thing: Thing) -> str:
    """Return the key of a thing's seal in the storage."""
    return f"{SEALS}/{thing.name}.json"


def seal_owner(home: Path) -> str:
    """Return the name of a home among those that share a storage: host and folder."""
    return f"{socket.gethostname()}:{os.fspath(home.resolve())}"


def same_files(one: Mapping[str, SealedFile], other: Mapping[str, SealedFile]) -> bool:
    """Return True if both have the same paths with the same contents."""
    return one.keys() == other.keys() and all(file.is_like(other[path]) for path, file in one.items())
