"""Fetching of the archive's days into the lake, and reading of those that changed."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime
from functools import partial
from pathlib import Path

import polars as pl

from pipeline.following.archive_days import days_to_ask, days_to_forget, read_statuses
from pipeline.following.window import DAY, Window
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path, read_account
from pipeline.sources.gharchive.days import (
    bring_days,
    bring_shared,
    day_locked,
    fetch_alone,
    read_alone,
    read_with_midnight,
)
from pipeline.sources.gharchive.fetch import FetchSettings, require_some_hour
from pipeline.sources.gharchive.files import HourFile, load_knowledge
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import readings_folder
from pipeline.sources.gharchive.source import event_rules, fetch_settings

Log = Callable[[str], None]


def bring_as_set(
    settings: Settings,
    window: Window,
    *,
    now: datetime | None = None,
    log: Log | None = None,
    work: str = "ldg follow",
) -> list[date]:
    """Run `bring_window` with the archive, rules and cluster of the settings."""
    return bring_window(
        settings.lake,
        window,
        fetch_settings(settings),
        event_rules(settings),
        keep_raw=settings.follow_keep_raw,
        now=now,
        log=log,
        work=work,
        cluster=settings.cluster,
    )


def bring_window(
    lake: Lake,
    window: Window,
    fetching: FetchSettings,
    rules: EventRules,
    *,
    keep_raw: bool = False,
    now: datetime | None = None,
    log: Log | None = None,
    work: str = "ldg follow",
    cluster: str = "",
) -> list[date]:
    """Request the days of `window` that may have changed, read those that did; return these, in order.

    An unchanged day costs its requests and no reading; a day that a killed process left unsettled counts as
    changed. Each day is read as soon as it is fetched, so that raw files do not pile up where they are not
    kept. Parsed hours that no day needs any more are deleted on the way. Raise FileNotFoundError if the
    archive has no hour of the window and the home has none either.
    """
    bring_shared(lake, window.first, window.last, work, log)
    # An unsettled day counts as never read, so that the readings around it are kept until it is settled.
    settled = [day for day in window if not mark_of_unsettled(lake, day).exists()]
    statuses = read_statuses(lake, settled)
    days = days_to_ask(window, statuses)
    use = partial(read_changed, rules=rules, keep_raw=keep_raw, work=work, fetching=fetching, now=now)
    changed: list[date] = []
    for day, is_changed in bring_days(days, lake, fetching, use, log, now, work, cluster):
        if is_changed:
            changed.append(day)
        if not mark_of_unsettled(lake, day).exists():
            statuses |= read_statuses(lake, [day])
        for old in days_to_forget(Window(window.first, day), statuses):
            if (readings := readings_folder(lake, old)).exists():
                with day_locked(lake, old, work, log):
                    shutil.rmtree(readings, ignore_errors=True)
    found = Counter(status for day in days for status in statuses.get(day, ()))
    require_some_hour(lake, fetching, days, found)
    return sorted(changed)


def read_changed(
    lake: Lake,
    hours: list[HourFile],
    log: Log | None,
    *,
    rules: EventRules,
    keep_raw: bool,
    work: str,
    fetching: FetchSettings,
    now: datetime | None,
) -> bool:
    """Read a day if its hours changed or it is unsettled; return whether its events may have changed.

    Neighbours that depend on it are read again with it, because copies of an event are detected across
    midnight. They are looked up after the day's own reading, which shares a lock with both of theirs: a
    neighbour that another process reads meanwhile is either done by then, or sees this day.

    From before the first reading until after the last, a mark file says that the day is not settled: if the
    process is killed in between, or a neighbour cannot be read now, all of it is repeated.
    """
    day = hours[0].day
    mark, is_changed = mark_of_unsettled(lake, day), differs(lake, day, hours)
    if not (mark.exists() or is_changed):
        return False
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()

    def read(one: date) -> bool:
        """Read a day, after fetching missing hours if needed; return whether nothing is left to retry."""
        account = read_with_midnight(lake, one, rules, keep_raw, work, fetching, now, log)
        if any(of == one != day for of, _ in account.gone):  # its own hours were not requested yet
            fetch_alone(lake, one, fetching, now, work, log)
            account = read_alone(lake, one, rules, keep_raw, work, log)
        if account.gone and log is not None:
            log(f"{one} stays as it is: {len(account.gone)} hours are neither here nor to be had now")
        notes = [load_knowledge(lake, *hour) for hour in account.gone]
        return all(note is not None and note.status == "missing" for note in notes)

    is_settled = read(day)
    for near in neighbours(lake, day):
        is_settled &= read(near)
    if is_settled:
        mark.unlink(missing_ok=True)  # another process that settled the day may have removed it
    return is_changed or is_settled


def mark_of_unsettled(lake: Lake, day: date) -> Path:
    """Return the path of the file that exists while a day and its neighbours are being read."""
    return lake.github_accounts / f".date={day.isoformat()}.unsettled"


def neighbours(lake: Lake, day: date) -> list[date]:
    """Return the stored days whose reading depends on `day`: the next, and a previous one with quarantine."""
    before, after = read_account(account_path(lake, day - DAY)), account_path(lake, day + DAY)
    asks = before is not None and before["quarantined"].sum() > 0
    return [*([day - DAY] if asks else []), *([day + DAY] if after.exists() else [])]


def differs(lake: Lake, day: date, hours: Iterable[HourFile]) -> bool:
    """Return whether the hours differ from those that the day's account was made from."""
    account = read_account(account_path(lake, day))
    if account is None:
        return True
    read = account.with_columns(pl.col("status").replace("damaged", "ok"))
    # The time of the last request for an hour without a file does not count as a difference.
    before = {
        row["hour"]: (row["status"], row["bytes"], row["etag"], row["fetched_at"] if row["bytes"] else None)
        for row in read.iter_rows(named=True)
    }
    return before != {
        hour.hour: (hour.status, hour.bytes, hour.etag, hour.fetched_at if hour.bytes else None)
        for hour in hours
    }
