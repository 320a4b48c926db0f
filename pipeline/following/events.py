"""What the followed did among themselves: one small file per day, made anew when its day changed."""

from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache

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
ReadDay = Callable[[date], pl.DataFrame]


def followed_events(lake: Lake, choice: Choice, days: Iterable[date]) -> list[tuple[pl.DataFrame, str]]:
    """The events of each day among the people of a choice, in order of time, and their digest."""
    with archive_reader(lake, choice) as read:
        return [events_of_day(lake, choice, day, read) for day in days]


def events_of_day(lake: Lake, choice: Choice, day: date, read: ReadDay) -> tuple[pl.DataFrame, str]:
    """The events of one day as they are stored, or read anew where the day or the people changed."""
    path = FollowingFiles.of(lake).events(choice.chosen_on, day)
    note = path.with_suffix(".json")
    inputs = digest_of([choice.digest, token_of(lake, day)])
    if note.exists() and path.exists():
        facts = msgspec.json.decode(note.read_bytes())
        rows = read_parquet(path)
        if facts["inputs"] == inputs and facts["rows"] == digest_of_rows(rows):
            return rows, facts["rows"]
    rows = read(day)
    digest = digest_of_rows(rows)
    write_parquet(rows, path)
    write_json({"inputs": inputs, "rows": digest}, note)
    return rows, digest


@contextmanager
def archive_reader(lake: Lake, choice: Choice) -> Generator[ReadDay]:
    """What reads days from the events of the archive, by one database that is opened for the first of them.

    A file is named for when it was crawled and may hold events of before: they count as of the day's first
    moment, when they became known, so that no day reaches back into one that is over.
    """
    ids = choice.people.select("node", login="name", key=pl.col("name").str.to_lowercase())
    with ExitStack() as opened:

        @cache
        def connection() -> duckdb.DuckDBPyConnection:
            archive = opened.enter_context(database(threads=1))
            archive.register("names", ids.select("login", "key").to_arrow())
            return archive

        def read(day: date) -> pl.DataFrame:
            files, _ = day_files(lake.github_events, day, day)
            if not files:
                return pl.DataFrame(schema=FOLLOWED_EVENTS)
            rows = query_frame(connection(), AMONG, {"files": files, "kinds": list(KINDS)})
            begin, end = file_day_span(day)
            return (
                rows.filter(pl.col("source") != pl.col("target"))
                .join(ids.select(source="login", u="node"), on="source", maintain_order="left")
                .join(ids.select(target="login", v="node"), on="target", maintain_order="left")
                .with_columns(pl.col("created_at").clip(begin, end - TICK))
                .select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())
            )

        yield read


@dataclass(frozen=True)
class FollowedDays:
    """The days of the people of a choice, each looked at once: within a run no day changes."""

    lake: Lake
    choice: Choice
    read: dict[date, tuple[pl.DataFrame, str]] = field(default_factory=dict)

    def of(self, day: date) -> tuple[pl.DataFrame, str]:
        """The events of a day, in order of time, and their digest."""
        (part,) = self.parts(Window(day, day))
        return part

    def between(self, first: date, last: date) -> tuple[pl.DataFrame, list[str]]:
        """The events from one day to another, both inside, and the digest of each day."""
        parts = self.parts(Window(first, last))
        return pl.concat([rows for rows, _ in parts]), [digest for _, digest in parts]

    def parts(self, window: Window) -> list[tuple[pl.DataFrame, str]]:
        """The events of each day of a window with their digest."""
        new = [day for day in window if day not in self.read]
        self.read.update(zip(new, followed_events(self.lake, self.choice, new), strict=True))
        return [self.read[day] for day in window]
