"""Events among the followed people: one small file per day, rewritten when its day changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import duckdb
import msgspec
import polars as pl

from pipeline.following.archive_days import token_of
from pipeline.following.choice import Choice
from pipeline.following.digest import digest_of, digest_of_rows
from pipeline.following.files import FollowingFiles
from pipeline.following.window import Window, file_day_span
from pipeline.lake import Lake, read_parquet, write_json, write_parquet
from pipeline.names import KINDS
from pipeline.schemas import EVENTS
from pipeline.sources.gharchive.database import database, day_files, query_frame
from pipeline.sources.gharchive.subnetwork import AMONG

FOLLOWED_EVENTS = {name: EVENTS.types[name] for name in ("u", "v", "type", "kind", "created_at")}
TICK = timedelta(microseconds=1)
Part = tuple[pl.DataFrame, str]  # the events of a day, in time order, and their digest


def followed_events(lake: Lake, choice: Choice, days: Iterable[date]) -> dict[date, Part]:
    """Return the events among the people of a choice by day: as stored, or read again if outdated."""
    stored = {day: stored_events(lake, choice, day) for day in days}
    changed = [day for day, part in stored.items() if part is None]
    return {day: part for day, part in stored.items() if part} | read_anew(lake, choice, changed)


def stored_events(lake: Lake, choice: Choice, day: date) -> Part | None:
    """Return the stored events of a day; None if they are missing, or the day or the people changed."""
    path, note = places(lake, choice, day)
    if not note.exists() or not path.exists():
        return None
    facts, rows = msgspec.json.decode(note.read_bytes()), read_parquet(path)
    holds = facts["inputs"] == inputs_of(lake, choice, day) and facts["rows"] == digest_of_rows(rows)
    return (rows, facts["rows"]) if holds else None


def read_anew(lake: Lake, choice: Choice, days: Sequence[date]) -> dict[date, Part]:
    """Read days from the events of the archive, with one database for all of them, and store each."""
    parts: dict[date, Part] = {}
    if not days:
        return parts
    people = choice.people.select("node", login="name", key=pl.col("name").str.to_lowercase())
    with database(threads=1) as archive:
        archive.register("names", people.select("login", "key").to_arrow())
        for day in days:
            inputs = inputs_of(
                lake, choice, day
            )  # computed first: a day that changes meanwhile is read again
            rows = events_among(people, lake, day, archive)
            parts[day] = rows, digest_of_rows(rows)
            path, note = places(lake, choice, day)
            write_parquet(rows, path)
            write_json({"inputs": inputs, "rows": parts[day][1]}, note)
    return parts


def events_among(
    people: pl.DataFrame, lake: Lake, day: date, archive: duckdb.DuckDBPyConnection
) -> pl.DataFrame:
    """Return the events of a day's files among people; `archive` has their names as the table `names`.

    A file is named for when it was crawled and may hold earlier events. These are moved to the day's first
    moment, when they became known, so that no day changes one that is over.
    """
    files, _ = day_files(lake.github_events, day, day)
    if not files:
        return pl.DataFrame(schema=FOLLOWED_EVENTS)
    rows = query_frame(archive, AMONG, {"files": files, "kinds": list(KINDS)})
    begin, end = file_day_span(day)
    return (
        rows.filter(pl.col("source") != pl.col("target"))
        .join(people.select(source="login", u="node"), on="source", maintain_order="left")
        .join(people.select(target="login", v="node"), on="target", maintain_order="left")
        .with_columns(pl.col("created_at").clip(begin, end - TICK))
        .select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())
    )


def places(lake: Lake, choice: Choice, day: date) -> tuple[Path, Path]:
    """Return the path of a day's events, and of the note with the digest of their inputs."""
    path = FollowingFiles.of(lake).events(choice.chosen_on, day)
    return path, path.with_suffix(".json")


def inputs_of(lake: Lake, choice: Choice, day: date) -> str:
    """Return the digest of a day's inputs: the people, and the day as it was read."""
    return digest_of([choice.digest, token_of(lake, day)])


@dataclass(frozen=True)
class FollowedDays:
    """The days of the people of a choice, each read once: within a run no day changes."""

    lake: Lake
    choice: Choice
    read: dict[date, Part] = field(default_factory=dict)

    def of(self, day: date) -> Part:
        """Return the events of a day, in time order, and their digest."""
        (part,) = self.parts(Window(day, day))
        return part

    def between(self, first: date, last: date) -> tuple[pl.DataFrame, list[str]]:
        """Return the events from `first` to `last`, both inclusive, and the digest of each day."""
        parts = self.parts(Window(first, last))
        return pl.concat([rows for rows, _ in parts]), [digest for _, digest in parts]

    def parts(self, window: Window) -> list[Part]:
        """Return the events of each day of a window, with their digest."""
        self.read.update(
            followed_events(self.lake, self.choice, [day for day in window if day not in self.read])
        )
        return [self.read[day] for day in window]
