"""Reading of one archive day: its hours are parsed, deduplicated, written as tables and counted."""

import filecmp
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.lake import Lake, read_parquet, replacing, sweep, write_text
from pipeline.progress import Progress
from pipeline.schemas import GHARCHIVE_FILES
from pipeline.sources.gharchive.account import account_path, gone_path, read_account
from pipeline.sources.gharchive.copies import Copies, Holding, copies_elsewhere, holding
from pipeline.sources.gharchive.decode import LIMITS
from pipeline.sources.gharchive.files import HourFile, load_knowledge, raw_folder, raw_path, store_knowledge
from pipeline.sources.gharchive.hours import file_name, hours_of_day
from pipeline.sources.gharchive.inflate import Limits
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import (
    Counts,
    Reading,
    flush_reading,
    load_reading,
    make_reading,
    write_part,
)
from pipeline.storage.share import bring_file
from pipeline.storage.things import raw_hours

Hour = tuple[date, int]


@dataclass(frozen=True)
class DayAccount:
    """Ledger of a day: its events counted by outcome and its hours by status."""

    day: date
    hours: dict[str, int]  # number of hours by status: ok, missing, damaged, failed
    events: int
    kept: int
    ignored: int
    duplicates: int
    quarantined: int
    rate: float  # events per second over the files read now; 0.0 when all were read before
    notes: tuple[str, ...]  # problems, each with its file's name
    gone: tuple[Hour, ...] = ()  # lost source hours; if any, the day was not read again

    @property
    def complete(self) -> bool:
        """Return whether no hour remains to be fetched."""
        return self.hours["failed"] == 0 and not self.gone


def read_day(
    day: date,
    lake: Lake,
    rules: EventRules,
    keep_raw: bool = True,
    log: Callable[[str], None] | None = None,
    limits: Limits = LIMITS,
) -> DayAccount:
    """Parse a day's hour files and write its events, its quarantine and, last, its ledger.

    A duplicated event belongs to the earliest file in which it is readable, or else to the earliest that has
    it. The last hour of the day before and the first of the day after take part if they are in the lake.
    Only new or changed hours are parsed, and only changed tables are written. Absent hours are recorded as
    `missing` or `failed`; the day is complete if none is `failed`. Without `keep_raw`, raw files are deleted
    once parsed; their parse results (readings) stay.
    """
    events_folder = lake.github_day(day)
    quarantine_folder = lake.github_quarantine / f"date={day.isoformat()}"
    for folder in (events_folder, quarantine_folder, raw_folder(lake, day), lake.github_accounts):
        sweep(folder)

    files: list[HourFile] = []
    readings: dict[int, Reading] = {}
    notes = []
    read_events = events_so_far = 0
    started = time.perf_counter()
    hours = hours_of_day(day)
    with Progress(f"{day} read", len(hours), "hours", log) as progress:
        for hour in hours:
            file = load_knowledge(lake, day, hour) or HourFile(day, hour, "failed", "not fetched yet")
            if file.status == "ok":
                reading = load_reading(lake, file, rules, limits)
                if reading is None and _has_raw(lake, day, hour):
                    reading = make_reading(lake, file, rules, limits)
                    read_events += reading.counts.events
                if reading is None:
                    file = _fetch_again(lake, file)
                else:
                    readings[hour] = reading
                    events_so_far += reading.counts.events
                    notes += [f"{file.name}: {what}" for what in reading.damage]
                    if not reading.counts.readable:
                        notes.append(f"{file.name}: no event in it can be read")
            if file.reason or file.status != "ok":
                notes.append(f"{file.name}: {file.status}{': ' if file.reason else ''}{file.reason}")
            files.append(file)
            progress.advance(note=f"{events_so_far:,} events")

    before = _held_by_neighbour(day - timedelta(days=1), -1, lake, rules, limits)
    asks = any(
        reading.counts.quarantined for reading in readings.values()
    )  # the next day matters only for quarantined events
    after = _held_by_neighbour(day + timedelta(days=1), 0, lake, rules, limits) if asks else []
    keys = (reading.load_keys() for reading in readings.values())
    copies = dict(zip(readings, copies_elsewhere(keys, before, after), strict=True))
    rows = []
    for file in files:
        if (reading := readings.get(file.hour)) is None:
            rows.append(_account_row(file, file.status, Counts()))
            continue
        part = _part_name(file.hour)
        counts = _write_parts(reading, copies[file.hour], events_folder / part, quarantine_folder / part)
        is_damaged = reading.damaged or not reading.counts.readable
        rows.append(_account_row(file, "damaged" if is_damaged else "ok", counts))
    seconds = time.perf_counter() - started

    wanted = set(map(_part_name, readings))
    for folder in (events_folder, quarantine_folder):
        for written in folder.glob("*.parquet"):
            if written.name not in wanted:
                written.unlink()
    account = pl.DataFrame(rows, schema=GHARCHIVE_FILES.types)
    _write_if_changed(account, account_path(lake, day), pl.DataFrame.write_parquet)
    gone_path(lake, day).unlink(missing_ok=True)
    if not keep_raw:
        for hour in hours:
            raw, file = raw_path(lake, day, hour), load_knowledge(lake, day, hour)
            reading = load_reading(lake, file, rules, limits) if file is not None and raw.exists() else None
            if file is not None and reading is not None:
                flush_reading(reading)
                store_knowledge(lake, file)
                raw.unlink(missing_ok=True)  # another process that read the day may have removed it
    return _day_account(day, account, notes, read_events / seconds if read_events else 0.0)


def as_it_is(day: date, lake: Lake, gone: Sequence[Hour]) -> DayAccount:
    """Keep a day's tables because source hours are lost (`gone`); return its ledger with these as failed.

    Their names go to the day's `.gone` file, so that `failed_hours` lists them until the day is read again.
    """
    account = read_account(account_path(lake, day))
    assert account is not None
    names = [file_name(*hour) for hour in gone]
    write_text("\n".join(names), gone_path(lake, day))
    own = account.with_columns(
        pl.when(pl.col("file").is_in(names)).then(pl.lit("failed")).otherwise("status").alias("status")
    )
    notes = [f"{name}: gone since it was read; the day stays as it is, fetch it again" for name in names]
    return _day_account(day, own, notes, gone=gone)


def hours_gone(day: date, lake: Lake, rules: EventRules) -> list[Hour]:
    """Return the hours that a day was made from and whose raw file and reading are both lost.

    If the day were read now, it would lose their events, or count copies of the day before as its own. The
    hours are marked for the next fetch. Return an empty list for a day without a readable ledger.
    """
    own = _hours_had(day, lake)
    if own is None:
        return []
    before = day - timedelta(days=1)
    last = hours_of_day(before)[-1]
    needed = [(day, hour) for hour in own]
    if last in (_hours_had(before, lake) or []):
        needed.insert(0, (before, last))
    return [hour for hour in needed if not _is_readable(lake, *hour, rules)]


def _hours_had(day: date, lake: Lake) -> list[int] | None:
    """Return the hours whose events are in a day's tables; None if the day has no readable ledger."""
    account = read_account(account_path(lake, day))
    if account is None:
        return None
    return account.filter(pl.col("status").is_in(["ok", "damaged"]))["hour"].to_list()


def _is_readable(lake: Lake, day: date, hour: int, rules: EventRules) -> bool:
    """Return whether an hour can be read now; mark one that lost its raw file and reading as failed."""
    file = load_knowledge(lake, day, hour)
    if file is None or file.status != "ok":
        return False
    if raw_path(lake, day, hour).exists() or load_reading(lake, file, rules) is not None:
        return True
    if _has_raw(lake, day, hour):
        return True
    _fetch_again(lake, file)
    return False


def _day_account(
    day: date, account: pl.DataFrame, notes: Sequence[str], rate: float = 0.0, gone: Sequence[Hour] = ()
) -> DayAccount:
    """Sum the ledger's rows, one per file, into a `DayAccount`."""
    statuses = Counter(account["status"])
    return DayAccount(
        day=day,
        hours={status: statuses[status] for status in ("ok", "missing", "damaged", "failed")},
        **{
            name: int(account[name].sum())
            for name in ("events", "kept", "ignored", "duplicates", "quarantined")
        },
        rate=rate,
        notes=tuple(notes),
        gone=tuple(gone),
    )


def _part_name(hour: int) -> str:
    return f"{hour:02d}.parquet"


def _held_by_neighbour(day: date, which: int, lake: Lake, rules: EventRules, limits: Limits) -> list[Holding]:
    """Return the event identities of the hour at index `which` of a day; empty if it is not in the lake."""
    hour = hours_of_day(day)[which]
    file = load_knowledge(lake, day, hour)
    if file is None or file.status != "ok":
        return []
    reading = load_reading(lake, file, rules, limits)
    if reading is None and _has_raw(lake, day, hour):
        reading = make_reading(lake, file, rules, limits)
    return [] if reading is None else [holding(reading.load_keys())]


def _has_raw(lake: Lake, day: date, hour: int) -> bool:
    """Return whether an hour's file is in the lake, after a try to bring it from the shared storage."""
    raw = raw_path(lake, day, hour)
    return raw.exists() or bring_file(lake, raw_hours(day), raw)


def _write_parts(reading: Reading, copies: Copies, events: Path, quarantine: Path) -> Counts:
    """Write a reading's tables without copies that belong to other files; return its adjusted counts."""
    _write_part(reading.events, events, copies.kept)
    if reading.counts.quarantined > len(copies.quarantined):
        _write_part(reading.quarantine, quarantine, copies.quarantined)
    else:
        quarantine.unlink(missing_ok=True)
    counts = reading.counts
    return Counts(
        events=counts.events,
        kept=counts.kept - len(copies.kept),
        ignored=counts.ignored - copies.ignored,
        duplicates=counts.duplicates + len(copies.kept) + copies.ignored + len(copies.quarantined),
        quarantined=counts.quarantined - len(copies.quarantined),
    )


def _write_part(source: Path, part: Path, without: np.ndarray) -> None:
    if len(without):
        frame = read_parquet(source)
        left = np.ones(len(frame), dtype=bool)
        left[without] = False
        _write_if_changed(frame.filter(pl.Series(left)), part, write_part)
    elif not (part.exists() and filecmp.cmp(source, part, shallow=False)):
        with replacing(part) as temporary:
            shutil.copyfile(source, temporary)


def _write_if_changed(frame: pl.DataFrame, path: Path, write: Callable[[pl.DataFrame, Path], None]) -> None:
    if not _holds(path, frame):
        with replacing(path) as temporary:
            write(frame, temporary)


def _holds(path: Path, frame: pl.DataFrame) -> bool:
    """Return whether a file holds exactly this table; an unreadable file does not."""
    try:
        return read_parquet(path).equals(frame)
    except (OSError, pl.exceptions.PolarsError):
        return False


def _fetch_again(lake: Lake, file: HourFile) -> HourFile:
    """Mark a file as failed, so that the next fetch requests it; store and return its note."""
    reason = "the raw file is gone and has no reading under these rules; fetch the day again"
    file = replace(file, status="failed", reason=reason, etag=None, md5=None)
    store_knowledge(lake, file)
    return file


def _account_row(file: HourFile, status: str, counts: Counts) -> dict[str, object]:
    return {
        "file": file.name,
        "day": file.day,
        "hour": file.hour,
        "status": status,
        "bytes": file.bytes,
        "etag": file.etag,
        **vars(counts),
        "fetched_at": file.fetched_at,
    }
