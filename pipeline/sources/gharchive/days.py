"""Days of the archive, fetched and read each under its locks: here one after the other, or on a cluster.

On a cluster, every other day comes first: the reading of a day holds the lock of the day before, too, so that
neighbours would wait for each other. Of the days between them, every other comes first again: each reads the
day after it once more, and that one shares a lock with the next.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, timedelta

from pipeline.cluster.run import run_tasks
from pipeline.cluster.task import Log, Made, Task
from pipeline.lake import Lake
from pipeline.locks import hold
from pipeline.sources.gharchive.day import DayAccount, as_it_is, hours_gone, read_day
from pipeline.sources.gharchive.fetch import (
    FetchSettings,
    Streak,
    fetch_day,
    fetching_slot,
    held_day,
    hour_is_wanted,
    probe,
)
from pipeline.sources.gharchive.files import HourFile, md5_of, raw_path, stored_note
from pipeline.sources.gharchive.hours import hours_of_day
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.storage.share import bring_things, news, publish_things
from pipeline.storage.things import archive_day, day_of, raw_hours

Use = Callable[[Lake, list[HourFile], Log | None], Made]
DAY = timedelta(days=1)
LONGEST_WAIT = 3600.0  # seconds, for a day that another process makes: it takes minutes
PLAIN = "a script"  # who works, where nobody says


def fetch_days(
    days: Iterable[date],
    lake: Lake,
    settings: FetchSettings,
    log: Log | None = None,
    now: datetime | None = None,
    work: str = PLAIN,
    cluster: str = "",
) -> Iterator[tuple[date, list[HourFile]]]:
    """Bring days into the lake, and yield each with what came of its hours; otherwise as `bring_days`."""
    return bring_days(days, lake, settings, hours_alone, log, now, work, cluster)


def hours_alone(lake: Lake, files: list[HourFile], log: Log | None) -> list[HourFile]:  # noqa: ARG001
    """A day's hours as they were fetched: nothing is done with them yet."""
    return files


def bring_days(
    days: Iterable[date],
    lake: Lake,
    settings: FetchSettings,
    use: Use[Made],
    log: Log | None = None,
    now: datetime | None = None,
    work: str = PLAIN,
    cluster: str = "",
) -> Iterator[tuple[date, Made]]:
    """Fetch days, after one look whether the archive can be reached, and do something with the hours of each
    at once: yield each day with what `use(lake, hours, log)` returned.

    If the archive cannot be reached, days that lack nothing are taken as they are; an hour still to be had
    makes that an error. If it goes away meanwhile, the rest is not asked for: hours that are not held fail,
    until the next time. `work` is what others read in a lock that they wait for.
    """
    days, so_far = list(days), (0, "")
    try:
        probe(settings)
    except OSError as error:
        held = {day: held_day(day, lake) for day in days}
        if any(hour_is_wanted(lake, file) for files in held.values() for file in files):
            raise
        if log is not None:
            log(f"{error}; every hour of these days is held and taken as it is")
        for day, files in held.items():
            yield day, use(lake, files, log)
        return
    tasks = (
        Task(str(day), bring_alone, (day, settings, use, now, so_far, work)) for day in in_turn(days, cluster)
    )
    for _, (day, result, so_far) in run_tasks(tasks, lake, cluster, log):  # noqa: B007 - `tasks` looks at it
        yield day, result


def bring_alone(
    lake: Lake,
    day: date,
    settings: FetchSettings,
    use: Use[Made],
    now: datetime | None,
    so_far: tuple[int, str],
    work: str,
    log: Log | None,
) -> tuple[date, Made, tuple[int, str]]:
    """Fetch a day under its lock and use its hours; the last of the three tells how long the archive has been
    out of reach.
    """
    streak = Streak(*so_far)
    files = fetch_alone(lake, day, settings, now, work, log, streak)
    return day, use(lake, files, log), streak.so_far


def fetch_alone(
    lake: Lake,
    day: date,
    settings: FetchSettings,
    now: datetime | None,
    work: str,
    log: Log | None,
    streak: Streak | None = None,
) -> list[HourFile]:
    """Fetch a day under its lock."""
    with fetching_slot(lake, settings, work, log), day_locked(lake, day, work, log):
        return fetch_day(day, lake, settings, log, now, streak)


def read_days(
    days: Iterable[date],
    lake: Lake,
    rules: EventRules,
    fetching: FetchSettings,
    *,
    keep_raw: bool = True,
    log: Log | None = None,
    work: str = PLAIN,
    cluster: str = "",
) -> Iterator[DayAccount]:
    """Read days whose hours are in the lake; yield the account of each as it is done.

    What is fetched is only what a day needs of the day before, where it is gone.
    """
    tasks = (
        Task(f"read {day}", read_with_midnight, (day, rules, keep_raw, work, fetching, None))
        for day in in_turn(list(days), cluster)
    )
    for _, account in run_tasks(tasks, lake, cluster, log):
        yield account


def read_with_midnight(
    lake: Lake,
    day: date,
    rules: EventRules,
    keep_raw: bool,
    work: str,
    fetching: FetchSettings,
    now: datetime | None,
    log: Log | None,
) -> DayAccount:
    """Read a day, after fetching another day again if an hour of it is gone that this one needs.

    Its own hours were asked for just now, by whoever fetched it.
    """
    account = read_alone(lake, day, rules, keep_raw, work, log)
    others = {of for of, _ in account.gone} - {day}
    if not others:
        return account
    for other in others:
        try:
            fetch_alone(lake, other, fetching, now, work, log)
        except OSError as error:
            if log is not None:
                log(f"{other} cannot be fetched again: {error}")
    return read_alone(lake, day, rules, keep_raw, work, log)


def read_alone(
    lake: Lake, day: date, rules: EventRules, keep_raw: bool, work: str, log: Log | None
) -> DayAccount:
    """Read a day under its lock and that of the day before, whose last hour may hold the same events.

    A day of which hours are gone since it was read stays as it is: what is stored is not lost with them.
    """
    with days_locked(lake, [day - DAY, day], work, log):
        if gone := hours_gone(day, lake, rules):
            return as_it_is(day, lake, gone)
        return read_day(day, lake, rules, keep_raw=keep_raw, log=log)


def in_turn(days: Sequence[date], cluster: str) -> Sequence[date]:
    """The days in the order in which they are made; on a cluster, neighbours apart."""
    return [*days[::2], *days[1::4], *days[3::4]] if cluster else days


@contextmanager
def day_locked(lake: Lake, day: date, work: str, log: Log | None = None) -> Generator[None]:
    """Hold the lock of a day of the archive, in its newest state where homes share a storage."""
    with hold(lake.lock("days", day.isoformat()), f"{day} is being made", work, LONGEST_WAIT, log):
        bring_day(lake, day, log)
        yield


def bring_day(lake: Lake, day: date, log: Log | None = None) -> None:
    """Bring a day in its newest state, if homes share a storage.

    A raw hour that was fetched here before goes where another home has a newer one: beside that one's note it
    would seem to be put there by hand.
    """
    if not lake.storage:
        return
    fetched = {hour: note for hour in hours_of_day(day) if (note := stored_note(lake, day, hour)) is not None}
    bring_things(lake, archive_day(day), log=log)
    for hour, before in fetched.items():
        note, raw = stored_note(lake, day, hour), raw_path(lake, day, hour)
        is_newer = note is not None and note.status == "ok" and note.md5 != before.md5
        if is_newer and raw.exists() and md5_of(raw) == before.md5:
            raw.unlink()


@contextmanager
def days_locked(lake: Lake, days: Iterable[date], work: str, log: Log | None = None) -> Generator[None]:
    """Hold the locks of `days` of the archive, the earliest first: then no two runs wait for each other.

    Where homes share a storage, what was made of these days is published.
    """
    days = sorted(days)
    with ExitStack() as locks:
        for day in days:
            locks.enter_context(day_locked(lake, day, work, log))
        yield
        publish_things(
            lake, *(thing for day in days for thing in (raw_hours(day), archive_day(day))), log=log
        )


def bring_shared(lake: Lake, first: date, last: date, work: str, log: Log | None = None) -> None:
    """Bring the days from `first` to `last` that other homes have published and this one has not."""
    for day in map(day_of, news(lake, "days", log)):
        if first <= day <= last:
            with day_locked(lake, day, work, log):
                pass
