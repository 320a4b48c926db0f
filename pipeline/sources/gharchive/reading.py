"""The reading of one hour file: its rows, its quarantine and its events' identities, kept beside the file.

A reading depends on the file and the rules alone, so it is made once, survives the raw file, and a day is put
together from readings whenever one of them changes.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow.parquet as pq
from isal.isal_zlib import crc32

from pipeline.lake import Lake, temporary_name
from pipeline.schemas import GITHUB_EVENTS, QUARANTINE
from pipeline.sources.gharchive.decode import LIMITS, decode
from pipeline.sources.gharchive.event import UNREADABLE
from pipeline.sources.gharchive.files import HourFile, raw_folder, raw_path
from pipeline.sources.gharchive.identity import KEY_BYTES, NO_ID, copy_keys, event_identities
from pipeline.sources.gharchive.inflate import Damage, Limits
from pipeline.sources.gharchive.normalize import EventRules, resolve, tells_who_and_when

READER = 3  # raised when the same file would be read differently, so that older readings are made anew
EXCERPT_BYTES = 400
FLUSH_CELLS = 400_000
LISTED_FRAGMENTS = 10_000
FEW_EVENTS = 16_384  # copies among so few take no memory that matters
EVENT_SCHEMA = GITHUB_EVENTS.types
QUARANTINE_SCHEMA = QUARANTINE.types
REPEATED = ("type", "kind", "file", "reason")
KEPT, IGNORED, QUARANTINED = range(3)


@dataclass(frozen=True)
class Counts:
    """Where the events of a file went."""

    events: int = 0
    kept: int = 0
    ignored: int = 0
    duplicates: int = 0
    quarantined: int = 0

    @property
    def readable(self) -> int:
        """The distinct events that could be read."""
        return self.kept + self.ignored


@dataclass(frozen=True)
class Reading:
    """What came of reading one file on its own, before its neighbours are looked at."""

    folder: Path
    counts: Counts
    damage: tuple[str, ...]
    damaged: bool  # bytes of the file could not be read as events, or the file itself is broken

    @property
    def events(self) -> Path:
        """The rows kept, in the file's order."""
        return self.folder / "events.parquet"

    @property
    def quarantine(self) -> Path:
        """What is not an event, or is one without a row; there is no file when there is no such thing."""
        return self.folder / "quarantine.parquet"

    @property
    def keys(self) -> Path:
        """The identity of each distinct event, ascending, with its fate and its row in that fate's table."""
        return self.folder / "keys.u64"

    @property
    def tables(self) -> list[Path]:
        """All that a reading consists of besides its note."""
        return [self.events, self.keys, *([self.quarantine] if self.counts.quarantined else [])]

    def load_keys(self) -> np.ndarray:
        """The keys as (4, distinct events): two words of identity, the first ascending, fate and row."""
        return np.fromfile(self.keys, dtype=np.uint64).reshape(4, -1)


def readings_folder(lake: Lake, day: date) -> Path:
    """Where the readings of a day's files are kept, one folder each: its hour, and what it depends on."""
    return raw_folder(lake, day) / "readings"


def reading_folder(lake: Lake, file: HourFile, depends: dict[str, object]) -> Path:
    """Where the reading with this signature is kept, and no other: what is there never changes."""
    digest = hashlib.sha256(json.dumps(depends).encode()).hexdigest()
    return readings_folder(lake, file.day) / f"{file.hour}-{digest[:16]}"


def signature(file: HourFile, rules: EventRules, limits: Limits) -> dict[str, object]:
    """What a reading depends on: it holds as long as this stays the same."""
    return {
        "reader": READER,
        "md5": file.md5,
        "bytes": file.bytes,
        "communications": sorted(rules.communications),
        "associations": sorted(rules.associations),
        "limits": [limits.inflated_bytes, limits.ratio, limits.event_bytes],
    }


def load_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading | None:
    """The stored reading of a file, or None if there is none, or one of another file or under other rules."""
    stored = _stored(reading_folder(lake, file, signature(file, rules, limits)))
    return None if stored is None else stored[0]


def has_reading(lake: Lake, file: HourFile) -> bool:
    """Whether this very file was read, under whatever rules: then the raw file may be gone."""
    return _reading_under_any_rules(lake, file) is not None


def _reading_under_any_rules(lake: Lake, file: HourFile) -> Reading | None:
    for stored in map(_stored, readings_folder(lake, file.day).glob(f"{file.hour}-*")):
        if stored is not None and stored[1] == file.md5:
            return stored[0]
    return None


def count_held_events(lake: Lake, file: HourFile) -> int:
    """Count the distinct events of an hour that is held: as it was read, or else in its raw file."""
    reading = _reading_under_any_rules(lake, file)
    if reading is None:
        return count_events(raw_path(lake, file.day, file.hour))
    return reading.counts.readable


def count_events(path: Path) -> int:
    """Count the distinct events of an hour file of which a type, an actor and a time can be read."""
    counted: set[bytes] = set()
    for block in decode(path, Damage()):
        keys = copy_keys(block.events, event_identities(block.events))
        counted.update(
            keys[KEY_BYTES * index : KEY_BYTES * (index + 1)]
            for index, event in enumerate(block.events)
            if tells_who_and_when(event)
        )
    return len(counted)


def _stored(folder: Path) -> tuple[Reading, str | None] | None:
    """The reading in a folder and the MD5 of its file; None if there is none that is whole.

    A note that does not say what a reading's note says, and tables unlike the note, are as none: whoever
    wants the reading makes it anew.
    """
    try:
        note = note_decoder.decode((folder / "reading.json").read_bytes())
        counts = Counts(**{field.name: note.counts[field.name] for field in fields(Counts)})
        reading = Reading(folder, counts, tuple(note.damage), note.damaged)
        whole = note.checksums == [_checksum(path) for path in reading.tables]
        return (reading, note.signature["md5"]) if whole else None
    except (OSError, KeyError, *UNREADABLE):
        return None


class Note(msgspec.Struct):
    """What is stored with a reading: what it depends on, its counts, and its tables' checksums."""

    signature: dict[str, Any]
    checksums: list[int]
    counts: dict[str, int]
    damage: list[str]
    damaged: bool


note_decoder = msgspec.json.Decoder(Note)


def _checksum(path: Path) -> int:
    return crc32(path.read_bytes())


def make_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading:
    """Read an hour's file and store the reading, whole or not at all; one that it replaces is removed.

    Two runs may make the same one: a day's first hour is held against the last of the day before. Nothing is
    flushed to the disk: while the raw file is there, a reading lost with the power is made anew.
    """
    tables = read_file(raw_path(lake, file.day, file.hour), file.name, rules, limits)
    depends = signature(file, rules, limits)
    folder = reading_folder(lake, file, depends)
    temporary = temporary_name(folder)
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process that had our number
    temporary.mkdir(parents=True)
    reading = Reading(temporary, tables.counts, tables.damage, tables.damaged)
    write_part(tables.events, reading.events)
    tables.keys.tofile(reading.keys)
    if tables.counts.quarantined:
        write_part(tables.quarantine, reading.quarantine)
    checksums = [_checksum(path) for path in reading.tables]
    note = Note(depends, checksums, vars(tables.counts), list(tables.damage), tables.damaged)
    (temporary / "reading.json").write_bytes(msgspec.json.encode(note))
    for former in folder.parent.glob(f"{file.hour}-*"):
        if former != folder or _stored(former) is None:
            shutil.rmtree(former, ignore_errors=True)
    try:
        temporary.rename(folder)
    except OSError:
        if _stored(folder) is None:
            raise
        shutil.rmtree(temporary)  # another run has made it meanwhile, with the same bytes
    return replace(reading, folder=folder)


def write_part(frame: pl.DataFrame, path: Path) -> None:
    """Write events or quarantine as Parquet, the same bytes each time.

    An hour of the early archive is so small that the writing counts: only columns of few values are tried as
    dictionaries, and Snappy starts at once.
    """
    repeated = [name for name in REPEATED if name in frame.columns]
    pq.write_table(frame.to_arrow(), path, compression="snappy", use_dictionary=repeated, store_schema=False)


def flush_reading(reading: Reading) -> None:
    """See that a reading is on the disk: then it can outlive the raw file."""
    for path in (*reading.tables, reading.folder / "reading.json"):
        with path.open("rb+") as file:
            os.fsync(file.fileno())


@dataclass(frozen=True)
class Tables:
    """The tables of one file, as read."""

    events: pl.DataFrame
    quarantine: pl.DataFrame
    keys: np.ndarray  # (4, distinct events), as `Reading.load_keys` says
    counts: Counts
    damage: tuple[str, ...]
    damaged: bool


def read_file(path: Path, name: str, rules: EventRules, limits: Limits = LIMITS) -> Tables:
    """Read one hour file: every event is kept, ignored, a duplicate or quarantined, and counted as that.

    Of copies the first that can be read stays. Most files have few, so that they are dropped at the end; once
    a file shows to have many, they are dropped as they come: memory follows what is kept.
    """
    kinds = rules.kinds
    damage = Damage()
    events, quarantine = Rows(EVENT_SCHEMA, name), Rows(QUARANTINE_SCHEMA, name)
    cells = events.cells
    keys, fates = bytearray(), bytearray()  # of every event that is not dropped
    origins: list[int] = []  # of each row of the quarantine, the number of the event; -1 of what is none
    read: set[bytes] | None = None  # keys of what is kept or ignored, once copies are dropped as they come
    unread: set[bytes] = set()  # keys of what is quarantined, from then on
    look_again = FEW_EVENTS
    copies = 0
    fragments, unlisted_bytes = 0, 0
    first_unlisted = 0  # where the first fragment is that has no row of its own

    for block in decode(path, damage, limits):
        ids = event_identities(block.events)
        block_keys = copy_keys(block.events, ids)
        if read is None and len(fates) >= look_again:
            look_again *= 2
            if _has_many_copies(keys):
                read, unread = _keys_by_fate(keys, fates)
        if read is None:
            keys += block_keys
        hexadecimal = ids.hex()
        for index, event in enumerate(block.events):
            key = b"" if read is None else block_keys[KEY_BYTES * index : KEY_BYTES * (index + 1)]
            if read is not None and key in read:
                copies += 1
                continue
            kind = kinds.get(event.type)
            row = None if kind is None else resolve(event)
            if isinstance(row, str):
                if key in unread:
                    copies += 1
                    continue
                offset, text = block.place(index)
                origins.append(len(fates))
                quarantine.cells += _set_aside(offset, row, text)
                fates.append(QUARANTINED)
            elif row is None or row[0] == row[2] or row[0].lower() == row[2].lower():
                fates.append(IGNORED)
            else:
                fates.append(KEPT)
                event_id = hexadecimal[32 * index : 32 * index + 32] if event.id in NO_ID else str(event.id)
                cells += (event_id, event.type, kind, *row)
            if read is not None:
                keys += key
                (unread if fates[-1] == QUARANTINED else read).add(key)
        for fragment in block.fragments:
            fragments += 1
            if fragments <= LISTED_FRAGMENTS:
                origins.append(-1)
                quarantine.cells += _set_aside(fragment.offset, fragment.reason, fragment.text)
            else:
                first_unlisted = first_unlisted or fragment.offset
                unlisted_bytes += len(fragment.text)
        events.flush()
        quarantine.flush()
    if fragments > LISTED_FRAGMENTS:
        origins.append(-1)
        reason = f"{fragments - LISTED_FRAGMENTS:,} more pieces that are not events"
        quarantine.cells += (first_unlisted, reason, unlisted_bytes, "")

    words = np.frombuffer(keys, dtype=">u8").astype(np.uint64).reshape(-1, 2).T  # (2, events)
    fate = np.frombuffer(fates, dtype=np.uint8)
    order, stays = _best_copies(words, fate == QUARANTINED)
    origin = np.array(origins, dtype=np.int64)
    event_table, quarantine_table = events.frame(), quarantine.frame()
    if not stays.all():
        event_table = event_table.filter(pl.Series(stays[fate == KEPT]))
        left = (origin < 0) | stays[origin]
        quarantine_table, origin = quarantine_table.filter(pl.Series(left)), origin[left]
    row_of = np.zeros(len(fate), dtype=np.uint64)
    row_of[(fate == KEPT) & stays] = np.arange(len(event_table))
    row_of[origin[origin >= 0]] = np.flatnonzero(origin >= 0)
    return Tables(
        events=event_table,
        quarantine=quarantine_table,
        keys=np.stack([*words[:, order], fate[order].astype(np.uint64), row_of[order]]),
        counts=Counts(
            events=len(fate) + copies + int(np.count_nonzero(origin < 0)),
            kept=len(event_table),
            ignored=int(np.count_nonzero(fate[order] == IGNORED)),
            duplicates=len(fate) + copies - len(order),
            quarantined=len(quarantine_table),
        ),
        damage=damage.notes,
        damaged=bool(damage.notes or fragments),
    )


class Rows:
    """A table of one file, gathered row after row."""

    def __init__(self, schema: Mapping[str, pl.DataType | type[pl.DataType]], file: str) -> None:
        self.schema, self.file = schema, file
        self.columns = [column for column in schema if column != "file"]
        self.cells: list[object] = []  # flat: no object per row for the garbage collector to visit
        self.frames: list[pl.DataFrame] = []

    def flush(self, least: int = FLUSH_CELLS) -> None:
        """Put the cells into a frame, where they take less memory, if there are `least` of them."""
        if len(self.cells) < least:
            return
        width = len(self.columns)
        series = {
            column: pl.Series(column, self.cells[at::width], self.schema[column])
            for at, column in enumerate(self.columns)
        }
        series["file"] = pl.Series("file", [self.file]).new_from_index(0, len(self.cells) // width)
        self.frames.append(pl.DataFrame([series[column] for column in self.schema]))
        self.cells.clear()

    def frame(self) -> pl.DataFrame:
        """All rows."""
        self.flush(least=0)
        return pl.concat(self.frames, rechunk=True) if len(self.frames) > 1 else self.frames[0]


def _has_many_copies(keys: bytearray) -> bool:
    """Whether more than one in sixteen of these keys has come before."""
    words = np.frombuffer(keys, dtype=np.uint64)
    events = len(words) // 2
    return len(np.unique(words[::2] ^ words[1::2])) < events - events // 16


def _keys_by_fate(keys: bytearray, fates: bytearray) -> tuple[set[bytes], set[bytes]]:
    """The keys of events that could be read, and those of events that are quarantined."""
    apart = np.frombuffer(bytes(keys), dtype=f"V{KEY_BYTES}")
    is_unread = np.frombuffer(bytes(fates), dtype=np.uint8) == QUARANTINED
    return set(apart[~is_unread].tolist()), set(apart[is_unread].tolist())


def _best_copies(words: np.ndarray, is_unread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of keys (2, events): the events that stay, by key ascending; and whether each event stays.

    Of copies that is the first that can be read, or else the first.
    """
    order = np.argsort(words[0], kind="stable")
    stays = np.ones(len(order), dtype=bool)
    if not (np.diff(words[0, order]) == 0).any():
        return order, stays
    order = np.lexsort((is_unread, words[1], words[0]))  # stable, too
    ordered = words[:, order]
    is_copy = np.zeros(len(order), dtype=bool)
    is_copy[1:] = (ordered[:, 1:] == ordered[:, :-1]).all(axis=0)
    stays[order[is_copy]] = False
    return order[~is_copy], stays


def _set_aside(offset: int, reason: str, text: bytes) -> tuple[int, str, int, str]:
    """The cells of a row of the quarantine."""
    return offset, reason, len(text), text[:EXCERPT_BYTES].decode("utf-8", "replace")
