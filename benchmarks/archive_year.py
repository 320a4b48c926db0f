"""A made-up year of the archive's normalized events, in the lake's own layout, as heavy-tailed as people are.

Activity and popularity follow power laws: of twenty million accounts the busiest begins one event in three
hundred, the median account a handful. People act in sittings of three events; two thirds of what an account
does goes to its few favourites. Files are named for when they were crawled, so that some events of a file
happened in the hour before; one in a thousand is archived once more, an hour later.
"""

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.schemas import GITHUB_EVENTS
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.reading import write_part

FIRST, DAYS, HOURS = date(2013, 1, 1), 365, 24
EVENTS_PER_ACCOUNT = 25
TAIL = 4  # an account's share of all events falls with its place to the power of 1 / TAIL - 1
FAVOURITES = 6
SITTING = 3  # events that an account begins within an hour, on average
COPIED = 1_000  # one event in so many is archived again
TYPES = np.array(["FollowEvent", "WatchEvent", "PushEvent", "IssuesEvent", "IssueCommentEvent", "ForkEvent"])
SHARES = (0.02, 0.28, 0.3, 0.1, 0.22, 0.08)


def accounts_by_popularity(chance: np.ndarray, accounts: int) -> np.ndarray:
    """The account at each place of the power law, `chance` being uniform."""
    return np.minimum((accounts * chance**TAIL).astype(np.int64), accounts - 1)


def favourites(actor: np.ndarray, which: np.ndarray, accounts: int) -> np.ndarray:
    """The favourites of an account: always the same few, themselves by popularity."""
    mixed = (actor * FAVOURITES + which).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return accounts_by_popularity((mixed >> np.uint64(11)).astype(np.float64) / 2**53, accounts)


def logins(numbers: np.ndarray) -> pl.Series:
    """The login of each account; a few are machines."""
    number = pl.col("number")
    name = pl.format("account{}", number) + pl.when(number % 500 == 7).then(pl.lit("-bot")).otherwise(
        pl.lit("")
    )
    return pl.DataFrame({"number": numbers}).select(name.alias("login"))["login"]


def events_of_hour(day: int, hour: int, events: int, accounts: int) -> pl.DataFrame:
    """One hour file's own events."""
    random = np.random.default_rng([day + 1, hour])
    sittings = random.geometric(1 / SITTING, events)
    actor = np.repeat(accounts_by_popularity(random.random(events), accounts), sittings)[:events]
    random.shuffle(actor)
    target = accounts_by_popularity(random.random(events), accounts)
    is_favourite = random.random(events) < 2 / 3
    target[is_favourite] = favourites(
        actor[is_favourite], random.integers(0, FAVOURITES, is_favourite.sum()), accounts
    )
    target = np.where(target == actor, (target + 1) % accounts, target)
    begins = datetime.combine(FIRST, datetime.min.time()) + timedelta(days=day, hours=hour)
    seconds = np.floor(np.sort(random.random(events) * 3600) - random.exponential(60, events))
    type_ = TYPES[random.choice(len(TYPES), events, p=SHARES)]
    number = 20_000_000_000 + (day * HOURS + hour) * events + np.arange(events)
    counterpart = logins(target)
    return pl.DataFrame(
        {
            "event_id": pl.Series(number).cast(pl.String),
            "type": type_,
            "kind": np.where(type_ == "FollowEvent", "association", "communication"),
            "actor": logins(actor),
            "actor_id": actor,
            "counterpart": counterpart,
            "repo": counterpart + "/code",
            "created_at": pl.Series(seconds * 1e6).cast(pl.Duration("us")) + begins,
        }
    )


def write_day(folder: Path, events: int, accounts: int, place: int) -> None:
    """The hour files of a day, each with copies from the hour before."""
    day = FIRST + timedelta(days=place)
    of_day = folder / f"date={day}"
    of_day.mkdir(parents=True)
    before = events_of_hour(place - 1, HOURS - 1, events // HOURS, accounts)
    for hour in range(HOURS):
        own = events_of_hour(place, hour, events // HOURS, accounts)
        rows = pl.concat([own, before[::COPIED]]).with_columns(file=pl.lit(file_name(day, hour)))
        write_part(GITHUB_EVENTS.cast(rows), of_day / f"{hour:02d}.parquet")
        before = own


def write_year(folder: Path, events: int, processes: int = 2) -> None:
    """A year of so many events."""
    accounts = events // EVENTS_PER_ACCOUNT
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(partial(write_day, folder, events // DAYS, accounts), range(DAYS)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, default=24_000_000)
    arguments = parser.parse_args()
    write_year(arguments.folder, arguments.events)
