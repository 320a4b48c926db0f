"""The reading of one hour file: its rows, its quarantine and its events' identities, kept beside the file.

A reading depends on the file and the rules alone, so it is made once, survives the raw file, and a day is put
together from readings whenever one of them changes.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass, replace
from datetime import date
from itertools import compress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from pipeline.lake import Lake
from pipeline.schemas import GITHUB_EVENTS, QUARANTINE
from pipeline.sources.gharchive.decode import LIMITS, decode
from pipeline.sources.gharchive.files import HourFile, raw_folder, raw_path
from pipeline.sources.gharchive.inflate import Limits
from pipeline.sources.gharchive.normalize import NO_ID, EventRules, identities, resolve

READER = 2  # raised when the same file would be read differently, so that older readings are made anew
EXCERPT_BYTES = 400
FLUSH_CELLS = 400_000
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
    found = _stored(reading_folder(lake, file, signature(file, rules, limits)))
    return None if found is None else found[0]


def has_reading(lake: Lake, file: HourFile) -> bool:
    """Whether this very file was read, under whatever rules: then the raw file may be gone."""
    kept = readings_folder(lake, file.day).glob(f"{file.hour}-*")
    return any(found is not None and found[1]["md5"] == file.md5 for found in map(_stored, kept))


def _stored(folder: Path) -> tuple[Reading, dict[str, object]] | None:
    """The reading in a folder and its signature, or None if there is none or its tables are not as noted."""
    try:
        note = json.loads((folder / "reading.json").read_text(encoding="utf-8"))
        reading = Reading(folder, Counts(**note["counts"]), tuple(note["damage"]), note["damaged"])
        sizes = [path.stat().st_size for path in reading.tables]
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return (reading, note["signature"]) if note["sizes"] == sizes else None


def make_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading:
    """Read an hour's file and store the reading, whole or not at all; one that it replaces is removed.

    Two runs may make the same one: a day's first hour is held against the last of the day before. Nothing is
    flushed to the disk: while the raw file is there, a reading lost with the power is made anew.
    """
    tables = read_file(raw_path(lake, file.day, file.hour), file.name, rules, limits)
    depends = signature(file, rules, limits)
    folder = reading_folder(lake, file, depends)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process that had our number
    temporary.mkdir(parents=True)
    made = Reading(temporary, tables.counts, tuple(tables.damage), tables.damaged)
    write_part(tables.events, made.events)
    tables.keys.tofile(made.keys)
    if tables.counts.quarantined:
        write_part(tables.quarantine, made.quarantine)
    values = {
        "signature": depends,
        "sizes": [path.stat().st_size for path in made.tables],
        "counts": vars(tables.counts),
        "damage": tables.damage,
        "damaged": tables.damaged,
    }
    (temporary / "reading.json").write_text(json.dumps(values), encoding="utf-8")
    for former in folder.parent.glob(f"{file.hour}-*"):
        if former != folder or _stored(former) is None:
            shutil.rmtree(former, ignore_errors=True)
    try:
        temporary.rename(folder)
    except OSError:
        if _stored(folder) is None:
            raise
        shutil.rmtree(temporary)  # another run has made it meanwhile, with the same bytes
    return replace(made, folder=folder)


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
    damage: list[str]
    damaged: bool


def read_file(path: Path, name: str, rules: EventRules, limits: Limits = LIMITS) -> Tables:
    """Read one hour file: every event is kept, ignored, a duplicate or quarantined, and counted as that."""
    kinds = rules.kinds
    damage: list[str] = []
    keys = bytearray()
    fates = bytearray()
    frames: list[pl.DataFrame] = []
    cells: list[object] = []  # row after row, flat: no object a row for the garbage collector to visit
    quarantine: list[tuple[str, int, str, int, str]] = []
    origins: list[int] = []  # of each row of the quarantine, the number of the event; -1 of what is none

    def set_aside(origin: int, offset: int, reason: str, text: bytes) -> None:
        origins.append(origin)
        quarantine.append((name, offset, reason, len(text), text[:EXCERPT_BYTES].decode("utf-8", "replace")))

    for block in decode(path, damage, limits):
        block_keys = identities(block.events)
        keys += block_keys
        hexadecimal = block_keys.hex()
        for index, event in enumerate(block.events):
            kind = kinds.get(event.type)
            if kind is None:
                fates.append(IGNORED)
                continue
            row = resolve(event)
            if isinstance(row, str):
                offset, text = block.place(index)
                set_aside(len(fates), offset, row, text)
                fates.append(QUARANTINED)
            elif row[0] == row[2] or row[0].lower() == row[2].lower():
                fates.append(IGNORED)
            else:
                fates.append(KEPT)
                event_id = hexadecimal[32 * index : 32 * index + 32] if event.id in NO_ID else str(event.id)
                cells += (event_id, event.type, kind, *row)
        for fragment in block.fragments:
            set_aside(-1, fragment.offset, fragment.reason, fragment.text)
        if len(cells) >= FLUSH_CELLS:
            frames.append(_event_frame(cells, name))
            cells = []
    frames.append(_event_frame(cells, name))
    events = pl.concat(frames, rechunk=True) if len(frames) > 1 else frames[0]

    words = np.frombuffer(keys, dtype=">u8").astype(np.uint64).reshape(-1, 2).T  # (2, events)
    fate = np.frombuffer(fates, dtype=np.uint8)
    order, is_first = _first_copies(words)
    if not is_first.all():
        events = events.filter(pl.Series(is_first[fate == KEPT]))
        left = [origin < 0 or bool(is_first[origin]) for origin in origins]
        quarantine, origins = list(compress(quarantine, left)), list(compress(origins, left))
    row_of = np.zeros(len(fate), dtype=np.uint64)
    row_of[(fate == KEPT) & is_first] = np.arange(len(events))
    for at, origin in enumerate(origins):
        if origin >= 0:
            row_of[origin] = at
    fragments = origins.count(-1)
    return Tables(
        events=events,
        quarantine=pl.DataFrame(quarantine, schema=QUARANTINE_SCHEMA, orient="row"),
        keys=np.stack([*words[:, order], fate[order].astype(np.uint64), row_of[order]]),
        counts=Counts(
            events=len(fate) + fragments,
            kept=len(events),
            ignored=int(np.count_nonzero(fate[order] == IGNORED)),
            duplicates=len(fate) - len(order),
            quarantined=len(quarantine),
        ),
        damage=damage,
        damaged=bool(damage or fragments),
    )


def _event_frame(cells: list[object], name: str) -> pl.DataFrame:
    columns = [column for column in EVENT_SCHEMA if column != "file"]
    width = len(columns)
    series = [pl.Series(column, cells[at::width], EVENT_SCHEMA[column]) for at, column in enumerate(columns)]
    file = pl.Series("file", [name]).new_from_index(0, len(cells) // width)
    return pl.DataFrame([*series, file])


def _first_copies(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of identities (2, events): which events are the first with theirs, ascending; and whether each is."""
    order = np.argsort(words[0], kind="stable")  # of copies the first comes first
    is_first = np.ones(len(order), dtype=bool)
    if not (np.diff(words[0, order]) == 0).any():
        return order, is_first
    order = np.lexsort((words[1], words[0]))  # stable, too
    ordered = words[:, order]
    is_copy = np.zeros(len(order), dtype=bool)
    is_copy[1:] = (ordered[:, 1:] == ordered[:, :-1]).all(axis=0)
    is_first[order[is_copy]] = False
    return order[~is_copy], is_first
