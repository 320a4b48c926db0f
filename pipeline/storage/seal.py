"""The seal of a thing in the storage: one small object that says which files it consists of, and whether they
are all in place.

A seal is only ever written in the place of the version that its writer has read, so of two writers one is
refused. Whoever publishes opens the seal, puts the files, and closes it: a seal that is open, or files that
differ from their seal, are no whole thing, and nobody takes them for one.
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
    """A file as it was published."""

    bytes: int
    sha256: str
    etag: str  # the version that the storage gave it

    def is_like(self, other: "SealedFile | None") -> bool:
        """Whether both are the same bytes."""
        return other is not None and (self.bytes, self.sha256) == (other.bytes, other.sha256)


class Seal(msgspec.Struct, frozen=True):
    """What a thing consists of. While it is open: which files are in place, and which others may be there."""

    is_open: bool
    by: str  # the home that wrote it
    at: str  # when, by that machine's clock: to tell a person, nothing is decided by it
    turn: str  # makes every seal another one
    files: dict[str, SealedFile]
    unsure: list[str] = []

    @classmethod
    def written(
        cls, home: Path, files: Mapping[str, SealedFile], *, is_open: bool, unsure: Iterable[str] = ()
    ) -> "Seal":
        """A seal that this home writes now."""
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        in_place = dict(sorted(files.items()))
        return cls(is_open, seal_owner(home), now, uuid.uuid4().hex, in_place, sorted(unsure))

    @classmethod
    def read(cls, data: bytes) -> "Seal":
        """The seal of an object's bytes; msgspec.MsgspecError for what is none."""
        return seal_decoder.decode(data)

    def encoded(self) -> bytes:
        """As it is stored."""
        return msgspec.json.format(msgspec.json.encode(self))

    def __str__(self) -> str:
        return f"{self.by} at {self.at}"


seal_decoder = msgspec.json.Decoder(Seal)


def seal_key(thing: Thing) -> str:
    """Where the seal of a thing is."""
    return f"{SEALS}/{thing.name}.json"


def seal_owner(home: Path) -> str:
    """Who seals, by name among the homes that share a storage: its machine and its folder."""
    return f"{socket.gethostname()}:{os.fspath(home.resolve())}"


def same_files(one: Mapping[str, SealedFile], other: Mapping[str, SealedFile]) -> bool:
    """Whether both are the same files with the same bytes."""
    return one.keys() == other.keys() and all(file.is_like(other[path]) for path, file in one.items())
