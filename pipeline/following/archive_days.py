"""The archive's days: which are needed, which to ask for again, what the lake holds of each."""

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

# The columns of an account by which one reading of a day differs from another: when it was fetched is none.
# They are spelled out because a new column must not change the digests of days that are followed already.
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
REACH = 2  # days: a day that changes has its neighbours read again, and each of these looks at its own


def was_read(lake: Lake, day: date) -> bool:
    """Whether the day's events are in the lake, as far as they were to be had."""
    return account_path(lake, day).exists()


def token_of(lake: Lake, day: date) -> str:
    """What tells a day's events apart from those of an earlier reading; of a day not read, nothing."""
    path = account_path(lake, day)
    return digest_of_rows(read_parquet(path).select(READING_COLUMNS)) if path.exists() else ""


def days_needed(settings: Settings, last: date, first: date | None) -> Window:
    """The days that must be in the lake to follow up to `last`: the first window, and all since."""
    followed, asked = followed_days(settings.lake), asked_start(settings.lake)
    begun = followed[:1] or ([] if asked is None else [asked])
    start = min([*begun, last if first is None else first - DAY])
    return Window(window_until(start, settings.follow_days).first, last)


def newest_day_to_follow(settings: Settings, until: date) -> date:
    """Find the newest day up to `until` that the archive has; one that is no folder is taken to have all.

    A folder that is not there is left to the look at the archive when days are brought: they may all be held.
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
    """Say that no day after `newest` can be followed."""
    return f"the archive in {settings.gharchive_url} ends on {newest}"


def days_to_ask(window: Window, statuses: Mapping[date, Collection[str]]) -> list[date]:
    """The days of `window` to ask the archive for, in order.

    `statuses` holds those of the hours of each day that was read. Asked for are days that were never read,
    days with failed hours, and each of the last `LATE_DAYS`: whether a file was replaced, or a missing one
    published late, is known only by asking, and asking for what is unchanged costs one empty answer per hour.
    """
    return [
        day
        for day in window
        if day not in statuses or "failed" in statuses[day] or (window.last - day).days < LATE_DAYS
    ]


def days_to_forget(window: Window, statuses: Mapping[date, Collection[str]]) -> list[date]:
    """The days of `window` whose readings nothing needs: neither they nor days near them are asked for.

    A day that somebody asks for all the same is fetched and read anew.
    """
    near = range(-REACH, REACH + 1)
    needed = {day + number * DAY for day in days_to_ask(window, statuses) for number in near}
    return [day for day in window if day not in needed]


def read_statuses(lake: Lake, days: Iterable[date]) -> dict[date, list[str]]:
    """The statuses of the hours of those of `days` that were read."""
    accounts = {day: read_account(account_path(lake, day)) for day in days}
    return {day: account["status"].to_list() for day, account in accounts.items() if account is not None}


def require_days(lake: Lake, first: date, last: date) -> None:
    """Refuse days that are not in the lake."""
    if absent := [day for day in Window(first, last) if not was_read(lake, day)]:
        raise FileNotFoundError(
            f"{absent[0]} {f'and {len(absent) - 1} more days are' if absent[1:] else 'is'} not in the lake: "
            "`ldg follow` brings what it needs"
        )
