"""The reading of one hour file: its rows, its quarantine and its events' identities, kept beside the file.

A reading depends on the file and the rules alone, so it is made once, survives the raw file, and a day is put
together from readings whenever one of them changes.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pipeline.gharchive.decode import LIMITS, decode
from pipeline.gharchive.files import HourFile, raw_folder, raw_path
from pipeline.gharchive.inflate import Limits
from pipeline.gharchive.normalize import EventRules, identity, resolve
from pipeline.lake import Lake

READER = 1  # raised when the same file would be read differently, so that older readings are made anew
EXCERPT_BYTES = 400
FLUSH_CELLS = 400_000
EVENT_SCHEMA = {
    "event_id": pl.String,
    "type": pl.String,
    "kind": pl.String,
    "actor": pl.String,
    "actor_id": pl.Int64,
    "counterpart": pl.String,
    "repo": pl.String,
    "created_at": pl.Datetime("us"),
    "file": pl.String,
}
QUARANTINE_SCHEMA = {
    "file": pl.String,
    "offset": pl.Int64,
    "reason": pl.String,
    "bytes": pl.Int64,
    "excerpt": pl.String,
}
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
        """What is not an event, or is one without a row."""
        return self.folder / "quarantine.parquet"

    @property
    def keys(self) -> Path:
        """The identity of each distinct event, ascending, with its fate and its row in that fate's table."""
        return self.folder / "keys.npy"

    @property
    def tables(self) -> tuple[Path, Path, Path]:
        """All that a reading consists of besides its note."""
        return self.events, self.quarantine, self.keys


def reading_folder(lake: Lake, day: date, hour: int) -> Path:
    """Where the reading of an hour's file is kept."""
    return raw_folder(lake, day) / "readings" / str(hour)


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
    values = _note(lake, file)
    if values is None or values["signature"] != signature(file, rules, limits):
        return None
    folder = reading_folder(lake, file.day, file.hour)
    return Reading(folder, Counts(**values["counts"]), tuple(values["damage"]), values["damaged"])


def has_reading(lake: Lake, file: HourFile) -> bool:
    """Whether this very file was read, under whatever rules: then the raw file may be gone."""
    values = _note(lake, file)
    return values is not None and values["signature"]["md5"] == file.md5


def _note(lake: Lake, file: HourFile) -> dict[str, Any] | None:
    """The note of an hour's reading, or None if there is none or its tables are not as it says."""
    folder = reading_folder(lake, file.day, file.hour)
    try:
        values = json.loads((folder / "reading.json").read_text(encoding="utf-8"))
        sizes = [path.stat().st_size for path in Reading(folder, Counts(), (), False).tables]
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return values if values["sizes"] == sizes else None


def make_reading(lake: Lake, file: HourFile, rules: EventRules, limits: Limits = LIMITS) -> Reading:
    """Read an hour's file and store the reading; its note comes last, so a reading is whole or not there.

    Nothing is flushed to the disk: while the raw file is there, a reading lost with the power is made anew.
    """
    folder = reading_folder(lake, file.day, file.hour)
    note = folder / "reading.json"
    folder.mkdir(parents=True, exist_ok=True)
    note.unlink(missing_ok=True)
    tables = read_file(raw_path(lake, file.day, file.hour), file.name, rules, limits)
    reading = Reading(folder, tables.counts, tuple(tables.damage), tables.damaged)
    tables.events.write_parquet(reading.events)
    tables.quarantine.write_parquet(reading.quarantine)
    np.save(reading.keys, tables.keys)
    values = {
        "signature": signature(file, rules, limits),
        "sizes": [path.stat().st_size for path in reading.tables],
        "counts": vars(tables.counts),
        "damage": tables.damage,
        "damaged": tables.damaged,
    }
    temporary = note.with_name(f".{note.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(values), encoding="utf-8")
    temporary.replace(note)
    return reading


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
    keys: np.ndarray  # (4, distinct events): two words of identity, the first ascending, fate and row
    counts: Counts
    damage: list[str]
    damaged: bool


def read_file(path: Path, name: str, rules: EventRules, limits: Limits = LIMITS) -> Tables:
    """Read one hour file: every event is kept, ignored, a duplicate or quarantined, and counted as that."""
    kinds = rules.kinds
    damage: list[str] = []
    keys = bytearray()
    fates = bytearray()
    aside: list[int] = []
    seen: set[bytes] = set()
    frames: list[pl.DataFrame] = []
    cells: list[object] = []  # row after row, flat: no object a row for the garbage collector to visit
    quarantine: list[tuple[str, int, str, int, str]] = []
    fragments = duplicates = 0

    def set_aside(offset: int, reason: str, text: bytes) -> None:
        quarantine.append((name, offset, reason, len(text), text[:EXCERPT_BYTES].decode("utf-8", "replace")))

    for block in decode(path, damage, limits):
        for index, event in enumerate(block.events):
            key = identity(event)
            if key in seen:
                duplicates += 1
                continue
            seen.add(key)
            keys += key
            kind = kinds.get(event.type)
            if kind is None:
                fates.append(IGNORED)
                continue
            row = resolve(event)
            if isinstance(row, str):
                fates.append(QUARANTINED)
                aside.append(len(quarantine))
                offset, text = block.place(index)
                set_aside(offset, row, text)
            elif row[0] == row[2] or row[0].lower() == row[2].lower():
                fates.append(IGNORED)
            else:
                fates.append(KEPT)
                event_id = key.hex() if event.id is None else str(event.id)
                cells += (event_id, event.type, kind, *row)
        fragments += len(block.fragments)
        for fragment in block.fragments:
            set_aside(fragment.offset, fragment.reason, fragment.text)
        if len(cells) >= FLUSH_CELLS:
            frames.append(_event_frame(cells, name))
            cells = []
    frames.append(_event_frame(cells, name))

    fate_counts = Counter(fates)
    counts = Counts(
        events=len(fates) + duplicates + fragments,
        kept=fate_counts[KEPT],
        ignored=fate_counts[IGNORED],
        duplicates=duplicates,
        quarantined=len(quarantine),
    )
    return Tables(
        events=pl.concat(frames, rechunk=True),
        quarantine=pl.DataFrame(quarantine, schema=QUARANTINE_SCHEMA, orient="row"),
        keys=_sorted_keys(keys, fates, aside),
        counts=counts,
        damage=damage,
        damaged=bool(damage or fragments),
    )


def _event_frame(cells: list[object], name: str) -> pl.DataFrame:
    columns = [column for column in EVENT_SCHEMA if column != "file"]
    width = len(columns)
    series = [pl.Series(column, cells[at::width], EVENT_SCHEMA[column]) for at, column in enumerate(columns)]
    file = pl.Series("file", [name]).new_from_index(0, len(cells) // width)
    return pl.DataFrame([*series, file])


def _sorted_keys(identities: bytearray, fates: bytearray, aside: list[int]) -> np.ndarray:
    words = np.frombuffer(identities, dtype="<u8").reshape(-1, 2)  # (events, 2)
    fate = np.frombuffer(fates, dtype=np.uint8)
    row = np.zeros(len(words), dtype=np.uint64)
    row[fate == KEPT] = np.arange(np.count_nonzero(fate == KEPT))
    row[fate == QUARANTINED] = aside
    keys = np.stack([words[:, 0], words[:, 1], fate.astype(np.uint64), row])  # (4, events)
    return keys[:, np.argsort(words[:, 0], kind="stable")]
