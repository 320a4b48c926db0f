"""The track record: one file per day for forecasts and for scores, replaced as a whole and marked revised."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from pipeline.following.files import FollowingFiles, files_of_day
from pipeline.following.rule import FOLLOWING
from pipeline.lake import Lake, read_parquet, write_json, write_parquet, write_text
from pipeline.locks import hold
from pipeline.schemas import FOLLOWED, FORECAST_SCORES, FORECASTS, TRAININGS, Table

LONGEST_WAIT = 6 * 3600.0  # seconds: the other process may be training


@dataclass(frozen=True)
class DayRecord:
    """A complete followed day: the digest of its inputs, the people, and the cost.

    `digest` covers everything the day depends on, including the days before. `serving` are the people (by the
    day on which they were chosen) whose forecast was made as of the day's end; `challenger` those whose model
    is trained but not yet promoted.
    """

    day: date
    digest: str
    serving: date
    challenger: date | None
    events: int
    seconds: float


record_decoder = msgspec.json.Decoder(DayRecord)


def read_record(lake: Lake, day: date) -> DayRecord | None:
    """Return the record of a day, or None while the day is incomplete."""
    try:
        return record_decoder.decode(FollowingFiles.of(lake).record(day).read_bytes())
    except FileNotFoundError:
        return None


def write_record(lake: Lake, record: DayRecord) -> None:
    """Write the record of a day, which marks the day as complete."""
    values = json.loads(msgspec.json.encode(asdict(record)))
    write_json(values, FollowingFiles.of(lake).record(record.day))


def followed_days(lake: Lake) -> list[date]:
    """Return the complete days, in order."""
    folder = lake.following / "days"
    return sorted(date.fromisoformat(path.stem) for path in folder.glob("????-??-??.json"))


def forget_followed_days(lake: Lake) -> None:
    """Delete all day records, newest first; published files stay until they are replaced."""
    for day in reversed(followed_days(lake)):
        FollowingFiles.of(lake).record(day).unlink(missing_ok=True)


def hold_following(lake: Lake, log: Callable[[str], None] | None) -> AbstractContextManager[int]:
    """Return a context manager that holds the lock for changes of followed days."""
    lock, happening = lake.lock("datasets", FOLLOWING), "the archive is being followed"
    return hold(lock, happening, "ldg follow", LONGEST_WAIT, log)


def undo_days(lake: Lake, first: date, log: Callable[[str], None] | None = None) -> list[date]:
    """Remove the followed days from `first` on, with everything made on them; return them, in order.

    The newest day is removed first, and of each day the record last: after a kill, the same call resumes. The
    archive's days in the lake stay. Raise ValueError if `first` is not followed.
    """
    with hold_following(lake, log):
        followed = followed_days(lake)
        if first not in followed:
            are = f"followed are {followed[0]} to {followed[-1]}" if followed else "nothing is followed yet"
            raise ValueError(f"{first} is not followed, so that it cannot be undone; {are}")
        days = [day for day in followed if day >= first]
        for day in reversed(days):
            for pattern in files_of_day(day):
                for path in sorted(lake.following.glob(pattern)):
                    if path.is_dir():
                        shutil.rmtree(path)
                    else:
                        path.unlink()
        if first == followed[0]:
            (lake.following / "start.txt").unlink(missing_ok=True)
        return days


def has_current_warehouse(lake: Lake) -> bool:
    """Return whether the warehouse is newer than the last record of a day that was written or removed."""
    days = lake.following / "days"
    return lake.warehouse.exists() and lake.warehouse.stat().st_mtime_ns >= days.stat().st_mtime_ns


def note_asked_start(lake: Lake, start: date) -> None:
    """Record the day as of which following was asked to begin."""
    write_text(str(start), lake.following / "start.txt")


def asked_start(lake: Lake) -> date | None:
    """Return the day as of which following was asked to begin, or None."""
    path = lake.following / "start.txt"
    return date.fromisoformat(path.read_text(encoding="utf-8")) if path.exists() else None


def publish_rows(rows: pl.DataFrame, table: Table, path: Path) -> None:
    """Write a day's rows, marked as revised if they differ from those published before."""
    rows = table.cast(rows.with_columns(revised=pl.lit(value=False)))
    if path.exists():
        before = read_parquet(path)
        changed = not before.drop("revised").equals(rows.drop("revised"))
        if not changed:
            return
        rows = rows.with_columns(revised=pl.lit(value=True))
    write_parquet(rows, path)


def track_record(lake: Lake) -> Iterator[tuple[Table, Iterator[pl.DataFrame]]]:
    """Yield the tables of the track record over all complete days, each in parts to bound memory."""
    yield FORECASTS, published(lake, FORECASTS, FollowingFiles.of(lake).forecasts)
    yield FORECAST_SCORES, published_scores(lake)
    yield FOLLOWED, iter([followed(lake)])


def published_scores(lake: Lake) -> Iterator[pl.DataFrame]:
    """Return the scores of all complete days, day by day."""
    return published(lake, FORECAST_SCORES, FollowingFiles.of(lake).scores)


def published(lake: Lake, table: Table, path: Callable[[date], Path]) -> Iterator[pl.DataFrame]:
    """Yield an empty frame, then the rows of a table day by day."""
    yield pl.DataFrame(schema=table.types)
    for day in followed_days(lake):
        if path(day).exists():
            yield table.cast(read_parquet(path(day)))


def followed(lake: Lake) -> pl.DataFrame:
    """Return the table `followed`: the people of every period of days, with the reason."""
    stretches: list[list[Any]] = []  # chosen on, first and last day whose forecast was for them
    for day in followed_days(lake):
        record = read_record(lake, day)
        assert record is not None
        if not stretches or stretches[-1][0] != record.serving:
            stretches.append([record.serving, day, day])
        stretches[-1][2] = day
    parts = [
        read_parquet(FollowingFiles.of(lake).people(chosen_on)).with_columns(
            pl.lit(first).alias("from"),
            pl.lit(None if number == len(stretches) else last, pl.Date).alias("until"),
            dataset=pl.lit(FOLLOWING),
        )
        for number, (chosen_on, first, last) in enumerate(stretches, start=1)
    ]
    return pl.concat([pl.DataFrame(schema=FOLLOWED.types), *map(FOLLOWED.cast, parts)])


def training_rows(lake: Lake) -> pl.DataFrame:
    """Return the trainings from a window's start as rows of the table `trainings`."""
    paths = sorted((lake.following / "trainings").glob("*.json"))
    rows = [msgspec.json.decode(path.read_bytes()) for path in paths]
    for row in rows:
        row["finished_at"] = datetime.fromisoformat(row["finished_at"])
    return pl.DataFrame(rows, schema=TRAININGS.types)
