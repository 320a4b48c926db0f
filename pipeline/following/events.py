"""What the followed did among themselves: one small file per day, made anew when its day changed."""

from dataclasses import dataclass, field
from datetime import date, timedelta

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


def followed_events(lake: Lake, choice: Choice, day: date) -> tuple[pl.DataFrame, str]:
    """The events of a day among the people of a choice, in order of time, and their digest."""
    path = FollowingFiles.of(lake).events(choice.chosen_on, day)
    note = path.with_suffix(".json")
    inputs = digest_of([choice.digest, token_of(lake, day)])
    if note.exists() and path.exists():
        facts = msgspec.json.decode(note.read_bytes())
        rows = read_parquet(path)
        if facts["inputs"] == inputs and facts["rows"] == digest_of_rows(rows):
            return rows, facts["rows"]
    rows = read_followed_events(lake, choice, day)
    write_parquet(rows, path)
    write_json({"inputs": inputs, "rows": digest_of_rows(rows)}, note)
    return rows, digest_of_rows(rows)


def read_followed_events(lake: Lake, choice: Choice, day: date) -> pl.DataFrame:
    """The same from the events of the archive.

    A file is named for when it was crawled and may hold events of before: they count as of the day's first
    moment, when they became known, so that no day reaches back into one that is over.
    """
    files, _ = day_files(lake.github_events, day, day)
    if not files:
        return pl.DataFrame(schema=FOLLOWED_EVENTS)
    ids = choice.people.select("node", login="name", key=pl.col("name").str.to_lowercase())
    with database("1GB", 1) as connection:
        connection.register("names", ids.select("login", "key").to_arrow())
        rows = query_frame(connection, AMONG, {"files": files, "kinds": list(KINDS)})
    begin, end = file_day_span(day)
    return (
        rows.filter(pl.col("source") != pl.col("target"))
        .join(ids.select(source="login", u="node"), on="source", maintain_order="left")
        .join(ids.select(target="login", v="node"), on="target", maintain_order="left")
        .with_columns(pl.col("created_at").clip(begin, end - TICK))
        .select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())
    )


@dataclass(frozen=True)
class FollowedDays:
    """The days of the people of a choice, each looked at once: within a run no day changes."""

    lake: Lake
    choice: Choice
    read: dict[date, tuple[pl.DataFrame, str]] = field(default_factory=dict)

    def of(self, day: date) -> tuple[pl.DataFrame, str]:
        """The events of a day, in order of time, and their digest."""
        if day not in self.read:
            self.read[day] = followed_events(self.lake, self.choice, day)
        return self.read[day]

    def between(self, first: date, last: date) -> tuple[pl.DataFrame, list[str]]:
        """The events from one day to another, both inside, and the digest of each day."""
        parts = [self.of(day) for day in Window(first, last)]
        return pl.concat([rows for rows, _ in parts]), [digest for _, digest in parts]
