"""Fetching and reading of archive days, each under its locks, sequentially or on a cluster.

Reading a day also locks the day before. To avoid contention on a cluster, every second day comes first, then
the others in two rounds of every fourth day: each of these also reads the next day again.
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
LONGEST_WAIT = 3600.0  # seconds to wait for a day locked by another process; a day takes minutes
PLAIN = "a script"  # default name of the holder in lock messages


def fetch_days(
    days: Iterable[date],
    lake: Lake,
    settings: FetchSettings,
    log: Log | None = None,
    now: datetime | None = None,
    work: str = PLAIN,
    cluster: str = "",
) -> Iterator[tuple[date, list[HourFile]]]:
    """Fetch days into the lake and yield each with the notes on its hours; see `bring_days`."""
    return bring_days(days, lake, settings, hours_alone, log, now, work, cluster)


def hours_alone(lake: Lake, files: list[HourFile], log: Log | None) -> list[HourFile]:  # noqa: ARG001
    """Return a day's fetched hours unchanged."""
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
    """Probe the archive once, fetch days, and yield each with what `use(lake, hours, log)` returned.

    If the archive is unreachable, the days are used as they are, provided that every hour is held; otherwise
    the error is raised. If it becomes unreachable later, remaining hours are not requested; those not held
    fail until the next run. `work` names this process in lock messages.
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
    """Fetch a day under its lock and use its hours; return day, result and streak of unreachable hours."""
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
    """Fetch a day under its lock and one of the fetching slots."""
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
    """Read days whose hours are in the lake; yield the ledger of each as it is done.

    Only the day before is fetched, if an hour of it that a day needs is lost.
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
    """Read a day; if it needs a lost hour of another day, fetch that day and read again.

    The day's own hours are not fetched: the caller has just requested them.
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

    A day whose source hours were lost since it was read keeps its tables, so that no stored event is lost.
    """
    with days_locked(lake, [day - DAY, day], work, log):
        if gone := hours_gone(day, lake, rules):
            return as_it_is(day, lake, gone)
        return read_day(day, lake, rules, keep_raw=keep_raw, log=log)


def in_turn(days: Sequence[date], cluster: str) -> Sequence[date]:
    """Return the days in processing order; on a cluster, neighbours are kept apart."""
    return [*days[::2], *days[1::4], *days[3::4]] if cluster else days


@contextmanager
def day_locked(lake: Lake, day: date, work: str, log: Log | None = None) -> Generator[None]:
    """Hold the lock of an archive day and bring its newest state from the shared storage, if any."""
    with hold(lake.lock("days", day.isoformat()), f"{day} is being made", work, LONGEST_WAIT, log):
        bring_day(lake, day, log)
        yield


def bring_day(lake: Lake, day: date, log: Log | None = None) -> None:
    """Bring the newest state of a day, if homes share a storage.

    A raw hour fetched here is deleted if another home has a newer one: beside the newer note it would be
    taken for a file put there by hand.
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
    """Hold the locks of archive days, the earliest first, so that two runs cannot deadlock.

    If homes share a storage, the days are published to it at the end.
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
