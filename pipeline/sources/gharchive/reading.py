"""The parse result ("reading") of one hour file: rows, quarantine and event keys, stored beside the file.

A reading depends only on the file, the rules and the limits. It is made once and outlives the raw file; a day
is assembled from its readings whenever one of them changes.
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

READER = 3  # increase it when the same file would be read differently, to invalidate older readings
EXCERPT_BYTES = 400
FLUSH_CELLS = 400_000
LISTED_FRAGMENTS = 10_000
FEW_EVENTS = 16_384  # the memory of copies among so few is negligible
EVENT_SCHEMA = GITHUB_EVENTS.types
QUARANTINE_SCHEMA = QUARANTINE.types
REPEATED = ("type", "kind", "file", "reason")
KEPT, IGNORED, QUARANTINED = range(3)


@dataclass(frozen=True)
class Counts:
    """A file's events, counted by outcome."""

    events: int = 0
    kept: int = 0
    ignored: int = 0
    duplicates: int = 0
    quarantined: int = 0

    @property
    def readable(self) -> int:
        """The number of distinct readable events."""
        return self.kept + self.ignored


@dataclass(frozen=True)
class Reading:
    """Stored parse result of one file, before deduplication against other files."""

    folder: Path
    counts: Counts
    damage: tuple[str, ...]
    damaged: bool  # bytes of the file could not be read as events, or the file itself is broken

    @property
    def events(self) -> Path:
        """Path of the rows kept, in the file's order."""
        return self.folder / "events.parquet"

    @property
    def quarantine(self) -> Path:
        """Path of fragments and of events without a row; the file is absent if there are none."""
        return self.folder / "quarantine.parquet"

    @property
    def keys(self) -> Path:
        """Path of the distinct events' keys, ascending, with outcome and row in that outcome's table."""
        return self.folder / "keys.u64"

    @property
    def tables(self) -> list[Path]:
        """Paths of a reading's files except its note."""
        return [self.events, self.keys, *([self.quarantine] if self.counts.quarantined else [])]

    def load_keys(self) -> np.ndarray:
        """Return the keys as (4, distinct events): two words of identity (first ascending), outcome, row."""
        return np.fromfile(self.keys, dtype=np.uint64).reshape(4, -1)


def readings_folder(lake: Lake, day: date) -> Path:
    """Return the folder of a day's readings, which has a subfolder for each hour and signature."""
    return raw_folder(lake, day) / "readings"


def reading_folder(lake: Lake, file: HourFile, depends: dict[str, object]) -> Path:
    """Return the folder of the reading with this signature; its content never changes."""
    digest = hashlib.sha256(json.dumps(depends).encode()).hexdigest()
    return readings_folder(lake, file.day) / f"{file.hour}-{digest[:16]}"


def signature(file: HourFile, rules: EventRules, limits: Limits) -> dict[str, object]:
    """Return the inputs of a reading; it is valid as long as they stay the same."""
    return {
        "reader": READER,
        "md5": file.md5,
        "bytes": file.bytes,
        "communications": sorted(rules.communications),
        "associations": sorted(rules.associations),
        "limits": [limits.inflated_bytes, limits.ratio, limits.event_bytes],
    }


def load_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading | None:
    """Load the stored reading of this file content under these rules and limits, or None."""
    stored = _stored(reading_folder(lake, file, signature(file, rules, limits)))
    return None if stored is None else stored[0]


def has_reading(lake: Lake, file: HourFile) -> bool:
    """Return whether this file content was read under any rules: then the raw file may be absent."""
    return _reading_under_any_rules(lake, file) is not None


def _reading_under_any_rules(lake: Lake, file: HourFile) -> Reading | None:
    for stored in map(_stored, readings_folder(lake, file.day).glob(f"{file.hour}-*")):
        if stored is not None and stored[1] == file.md5:
            return stored[0]
    return None


def count_held_events(lake: Lake, file: HourFile) -> int:
    """Count the distinct readable events of a held hour, from its reading or else its raw file."""
    reading = _reading_under_any_rules(lake, file)
    if reading is None:
        return count_events(raw_path(lake, file.day, file.hour))
    return reading.counts.readable


def count_events(path: Path) -> int:
    """Count the distinct events of an hour file that have a readable type, actor and time."""
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
    """Load the reading in a folder and the MD5 of its source file; None if it is absent or damaged.

    A malformed note or a wrong checksum counts as damage; the caller then makes the reading again.
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
    """Stored metadata of a reading: its signature, its counts, its defects and its tables' checksums."""

    signature: dict[str, Any]
    checksums: list[int]
    counts: dict[str, int]
    damage: list[str]
    damaged: bool


note_decoder = msgspec.json.Decoder(Note)


def _checksum(path: Path) -> int:
    return crc32(path.read_bytes())


def make_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading:
    """Parse an hour's file and store the reading atomically; remove readings that it replaces.

    Two runs may make the same one: a day's first hour is compared with the last of the day before. Nothing
    is flushed to disk: as long as the raw file exists, a reading lost in a power cut can be made again.
    """
    tables = read_file(raw_path(lake, file.day, file.hour), file.name, rules, limits)
    depends = signature(file, rules, limits)
    folder = reading_folder(lake, file, depends)
    temporary = temporary_name(folder)
    shutil.rmtree(temporary, ignore_errors=True)  # left by a killed process with our process id
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

    Early hours are so small that writing time matters: only columns of few values are dictionary-encoded,
    and Snappy needs no set-up.
    """
    repeated = [name for name in REPEATED if name in frame.columns]
    pq.write_table(frame.to_arrow(), path, compression="snappy", use_dictionary=repeated, store_schema=False)


def flush_reading(reading: Reading) -> None:
    """Flush a reading to disk (fsync), so that the raw file can be deleted."""
    for path in (*reading.tables, reading.folder / "reading.json"):
        with path.open("rb+") as file:
            os.fsync(file.fileno())


@dataclass(frozen=True)
class Tables:
    """The tables of one file, in memory."""

    events: pl.DataFrame
    quarantine: pl.DataFrame
    keys: np.ndarray  # (4, distinct events), as `Reading.load_keys` says
    counts: Counts
    damage: tuple[str, ...]
    damaged: bool


def read_file(path: Path, name: str, rules: EventRules, limits: Limits = LIMITS) -> Tables:
    """Parse one hour file: each event is kept, ignored, a duplicate or quarantined, and counted as such.

    Of copies the first readable one stays. Most files have few, which are dropped at the end. Once a file
    turns out to have many, they are dropped as they come, which bounds memory by the distinct events.
    """
    kinds = rules.kinds
    damage = Damage()
    events, quarantine = Rows(EVENT_SCHEMA, name), Rows(QUARANTINE_SCHEMA, name)
    cells = events.cells
    keys, fates = bytearray(), bytearray()  # of every event that is not dropped
    origins: list[int] = []  # event index of each row of the quarantine; -1 for a fragment
    read: set[bytes] | None = None  # keys of kept and ignored events, once copies are dropped as they come
    unread: set[bytes] = set()  # keys of quarantined events, from then on
    look_again = FEW_EVENTS
    copies = 0
    fragments, unlisted_bytes = 0, 0
    first_unlisted = 0  # offset of the first fragment without a row of its own

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
    """Builder of one file's table, row by row."""

    def __init__(self, schema: Mapping[str, pl.DataType | type[pl.DataType]], file: str) -> None:
        self.schema, self.file = schema, file
        self.columns = [column for column in schema if column != "file"]
        self.cells: list[object] = []  # flat: no object per row for the garbage collector to visit
        self.frames: list[pl.DataFrame] = []

    def flush(self, least: int = FLUSH_CELLS) -> None:
        """Move the cells to a frame, which takes less memory, if there are at least `least`."""
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
        """Return all rows as one frame."""
        self.flush(least=0)
        return pl.concat(self.frames, rechunk=True) if len(self.frames) > 1 else self.frames[0]


def _has_many_copies(keys: bytearray) -> bool:
    """Return whether more than one in sixteen of these keys is a repetition."""
    words = np.frombuffer(keys, dtype=np.uint64)
    events = len(words) // 2
    return len(np.unique(words[::2] ^ words[1::2])) < events - events // 16


def _keys_by_fate(keys: bytearray, fates: bytearray) -> tuple[set[bytes], set[bytes]]:
    """Split keys into those of readable events and those of quarantined ones."""
    apart = np.frombuffer(bytes(keys), dtype=f"V{KEY_BYTES}")
    is_unread = np.frombuffer(bytes(fates), dtype=np.uint8) == QUARANTINED
    return set(apart[~is_unread].tolist()), set(apart[is_unread].tolist())


def _best_copies(words: np.ndarray, is_unread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose one event per key (2, events): return their indices by ascending key, and a mask of all events.

    Of copies, the first readable one is chosen, or else the first.
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
    """Return the cells of a row of the quarantine."""
    return offset, reason, len(text), text[:EXCERPT_BYTES].decode("utf-8", "replace")
