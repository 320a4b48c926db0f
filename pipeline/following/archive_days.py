"""The archive's days: which are needed, which to request again, what the lake holds of each."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path

from pipeline.following.digest import digest_of_rows
from pipeline.following.record import asked_start, followed_days
from pipeline.following.rule import LATE_DAYS
from pipeline.following.window import DAY, Window, window_until
from pipeline.lake import Lake, read_parquet
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path, read_account
from pipeline.sources.gharchive.fetch import newest_day_in_folder
from pipeline.sources.gharchive.source import fetch_settings

# The columns of an account that identify the reading of a day; the time of fetching is not among them. They
# are listed explicitly, because a new column must not change the digests of days that are already followed.
READING_COLUMNS = (
    "file",
    "status",
    "bytes",
    "etag",
    "events",
    "kept",
    "ignored",
    "duplicates",
    "quarantined",
)
REACH = 2  # days: a changed day is read again with its neighbours, which depend on their own neighbours


def was_read(lake: Lake, day: date) -> bool:
    """Return whether the day was read into the lake, as far as its hours were available."""
    return account_path(lake, day).exists()


def token_of(lake: Lake, day: date) -> str:
    """Return a digest of the day's reading, or an empty string if the day was not read."""
    path = account_path(lake, day)
    return digest_of_rows(read_parquet(path).select(READING_COLUMNS)) if path.exists() else ""


def days_needed(settings: Settings, last: date, first: date | None) -> Window:
    """Return the days that must be in the lake to follow up to `last`: the first window, and all since."""
    followed, asked = followed_days(settings.lake), asked_start(settings.lake)
    begun = followed[:1] or ([] if asked is None else [asked])
    start = min([*begun, last if first is None else first - DAY])
    return Window(window_until(start, settings.follow_days).first, last)


def newest_day_to_follow(settings: Settings, until: date) -> date:
    """Find the newest day up to `until` that the archive has; an archive over HTTP is assumed to have all.

    A missing folder is no error here: the lake may already hold all days. Bringing days checks the archive.
    """
    archive = fetch_settings(settings)
    if archive.is_http or not Path(archive.base).is_dir():
        return until
    newest = newest_day_in_folder(Path(archive.base), until)
    if newest is None:
        raise FileNotFoundError(
            f"the archive in {archive.base} (LDG_GHARCHIVE_URL) has no hour file up to {until}: "
            "put hour files named as 2026-06-01-13.json.gz there"
        )
    return newest


def end_of_archive(settings: Settings, newest: date) -> str:
    """Return the message that the archive has no day after `newest`."""
    return f"the archive in {settings.gharchive_url} ends on {newest}"


def days_to_ask(window: Window, statuses: Mapping[date, Collection[str]]) -> list[date]:
    """Return the days of `window` to request from the archive, in order.

    `statuses` holds the hour statuses of each day that was read. Requested are days that were never read,
    days with failed hours, and each of the last `LATE_DAYS`: only a request shows whether a file was replaced
    or published late, and a request for an unchanged file costs one empty response per hour.
    """
    return [
        day
        for day in window
        if day not in statuses or "failed" in statuses[day] or (window.last - day).days < LATE_DAYS
    ]


def days_to_forget(window: Window, statuses: Mapping[date, Collection[str]]) -> list[date]:
    """Return the days of `window` with parsed hours to delete: no request concerns them or near days.

    If such a day is requested after all, it is fetched and read again.
    """
    near = range(-REACH, REACH + 1)
    needed = {day + number * DAY for day in days_to_ask(window, statuses) for number in near}
    return [day for day in window if day not in needed]


def read_statuses(lake: Lake, days: Iterable[date]) -> dict[date, list[str]]:
    """Return the hour statuses of those of `days` that were read."""
    accounts = {day: read_account(account_path(lake, day)) for day in days}
    return {day: account["status"].to_list() for day, account in accounts.items() if account is not None}


def require_days(lake: Lake, first: date, last: date) -> None:
    """Raise FileNotFoundError if a day from `first` to `last` is not in the lake."""
    if absent := [day for day in Window(first, last) if not was_read(lake, day)]:
        raise FileNotFoundError(
            f"{absent[0]} {f'and {len(absent) - 1} more days are' if absent[1:] else 'is'} not in the lake: "
            "`ldg follow` brings what it needs"
        )
