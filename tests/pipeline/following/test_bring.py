"""Bringing days: asked for again as long as late data may come, read only where something changed."""

from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest

from pipeline.following.archive_days import days_to_ask, days_to_forget, read_statuses
from pipeline.following.bring import bring_window, mark_of_unsettled
from pipeline.following.window import DAY, Window
from pipeline.lake import Lake
from pipeline.sources.gharchive.day import account_path
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.files import raw_path
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import readings_folder
from tests.todays_archive import World, hour_file, write_days

WORLD = World(people=6, circle=6, crowd=5, events=48)
SPARSE = World(people=6, circle=6, crowd=5, events=24)
DAYS = Window(date(2026, 6, 1), date(2026, 6, 3))
TWO_DAYS = Window(DAYS.first, DAYS.first + DAY)
LATER = datetime(2026, 7, 1)
HOURS = (0, 3, 5, 7, 23)


@pytest.fixture(autouse=True)
def few_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day has few hours: what is asked for and read again is decided by the day."""
    for module in ("fetch", "day"):
        monkeypatch.setattr(f"pipeline.sources.gharchive.{module}.hours_of_day", lambda day: HOURS)


def test_asked_for_are_days_never_read_days_with_failed_hours_and_the_last_fortnight() -> None:
    window = Window(date(2026, 6, 1), date(2026, 6, 30))
    statuses = {day: ["ok", "missing"] for day in window if day.day not in {3, 9}}
    statuses[date(2026, 6, 5)] = ["ok", "failed"]
    young = [date(2026, 6, day) for day in range(17, 31)]
    assert days_to_ask(window, statuses) == [date(2026, 6, 3), date(2026, 6, 5), date(2026, 6, 9), *young]


def test_readings_are_needed_near_the_days_that_are_asked_for() -> None:
    window = Window(date(2026, 6, 1), date(2026, 6, 30))
    statuses = {day: ["ok"] for day in window}
    assert days_to_forget(window, statuses) == [date(2026, 6, day) for day in range(1, 15)]
    statuses[date(2026, 6, 5)] = ["ok", "failed"]
    assert [day.day for day in days_to_forget(window, statuses)] == [1, 2, *range(8, 15)]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Window:
    """Days of which the first is over for good: late data is waited for one day, not fourteen."""
    monkeypatch.setattr("pipeline.following.archive_days.LATE_DAYS", 1)
    return Window(date(2026, 6, 1), date(2026, 6, 4))


def test_readings_of_a_day_that_is_over_for_good_are_removed_and_its_events_stay(
    lake: Lake, tmp_path: Path, impatient: Window
) -> None:
    window = impatient
    write_days(tmp_path, SPARSE, window)
    fetching = FetchSettings(base=str(tmp_path))
    bring_window(lake, window, fetching, EventRules(), now=LATER)
    days = [day.day for day in window if readings_folder(lake, day).exists()]
    assert days == [2, 3, 4]
    assert all(set(statuses) == {"ok"} for statuses in read_statuses(lake, window).values())
    accounts = [account_path(lake, day).read_bytes() for day in window]
    assert bring_window(lake, window, fetching, EventRules(), now=LATER) == []
    assert [account_path(lake, day).read_bytes() for day in window] == accounts


def brought(lake: Lake, archive: Path, now: datetime = LATER, days: Window = DAYS) -> list[date]:
    return bring_window(lake, days, FetchSettings(base=str(archive)), EventRules(), now=now)


def test_what_is_unchanged_is_asked_for_and_not_read_again(lake: Lake, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    write_days(archive, WORLD, TWO_DAYS)
    assert brought(lake, archive, days=TWO_DAYS) == list(TWO_DAYS)
    accounts = [account_path(lake, day).stat().st_mtime_ns for day in TWO_DAYS]
    assert brought(lake, archive, days=TWO_DAYS) == []
    assert [account_path(lake, day).stat().st_mtime_ns for day in TWO_DAYS] == accounts
    assert not any(raw_path(lake, TWO_DAYS.first, hour).exists() for hour in HOURS)


def test_a_late_hour_and_a_replaced_one_are_found_by_asking_again(lake: Lake, tmp_path: Path) -> None:
    archive, late = tmp_path / "archive", file_name(DAYS.last, 7)
    write_days(archive, WORLD, DAYS, without=frozenset({late}))
    soon = datetime(2026, 6, 3, 12)
    assert brought(lake, archive, soon) == list(DAYS)
    assert read_statuses(lake, DAYS)[DAYS.last].count("failed") == 1
    assert brought(lake, archive, LATER) == [DAYS.last], "what failed while young is missing now"
    assert read_statuses(lake, DAYS)[DAYS.last].count("missing") == 1
    (archive / late).write_bytes(hour_file(WORLD, DAYS.last, 7))
    replaced = DAYS.first + DAY
    (archive / file_name(replaced, 3)).write_bytes(hour_file(World(seed=9), replaced, 3))
    assert brought(lake, archive) == [replaced, DAYS.last]
    assert set(read_statuses(lake, DAYS)[DAYS.last]) == {"ok"}


def test_a_day_whose_neighbours_were_not_read_again_is_settled_the_next_time(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, late = tmp_path / "archive", file_name(TWO_DAYS.first, 23)
    write_days(archive, WORLD, TWO_DAYS, without=frozenset({late}))
    brought(lake, archive, days=TWO_DAYS)
    after = account_path(lake, TWO_DAYS.first + DAY)
    assert pl.read_parquet(after)["duplicates"].sum() == 0
    # The hour before midnight holds what the one after it holds, too: there they are copies.
    (archive / late).write_bytes((archive / file_name(TWO_DAYS.first + DAY, 0)).read_bytes())

    def killed(*_: object) -> list[date]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pipeline.following.bring.neighbours", killed)
        with pytest.raises(KeyboardInterrupt):
            brought(lake, archive, days=TWO_DAYS)
    assert pl.read_parquet(after)["duplicates"].sum() == 0, "killed before it was read again"
    # Its age would not have it asked for any more.
    long_after = Window(TWO_DAYS.first, TWO_DAYS.last + DAY)
    monkeypatch.setattr("pipeline.following.archive_days.LATE_DAYS", 1)
    assert days_to_ask(long_after, read_statuses(lake, long_after)) == [long_after.last]
    changed = bring_window(lake, long_after, FetchSettings(base=str(archive)), EventRules(), now=LATER)
    assert TWO_DAYS.first in changed
    assert pl.read_parquet(after)["duplicates"].sum() > 0
    assert not list(lake.github_accounts.glob(".*"))


def test_a_day_before_the_window_costs_none_of_those_whose_files_and_readings_are_gone(
    lake: Lake, tmp_path: Path, impatient: Window
) -> None:
    archive, window = tmp_path / "archive", impatient
    longer = Window(window.first - DAY, window.last)
    write_days(archive, SPARSE, longer)
    fetching = FetchSettings(base=str(archive))
    bring_window(lake, window, fetching, EventRules(), now=LATER)
    assert not readings_folder(lake, window.first).exists()
    assert bring_window(lake, longer, fetching, EventRules(), now=LATER) == [longer.first]
    assert {status for day in read_statuses(lake, longer).values() for status in day} == {"ok"}
    assert bring_window(lake, longer, fetching, EventRules(), now=LATER) == []


def test_a_day_stays_as_it_is_while_its_hours_cannot_be_had_again(
    lake: Lake, tmp_path: Path, impatient: Window
) -> None:
    archive, window = tmp_path / "archive", impatient
    longer = Window(window.first - DAY, window.last)
    write_days(archive, SPARSE, longer)
    hour = archive / file_name(window.first, 5)
    content = hour.read_bytes()
    fetching = FetchSettings(base=str(archive))
    bring_window(lake, window, fetching, EventRules(), now=LATER)
    events = [path.read_bytes() for path in sorted(lake.github_day(window.first).glob("*.parquet"))]
    hour.write_text("an error page")
    lines: list[str] = []
    assert bring_window(lake, longer, fetching, EventRules(), now=LATER, log=lines.append) == [longer.first]
    assert f"{window.first} stays as it is: 1 hours are neither here nor to be had now" in lines
    assert [path.read_bytes() for path in sorted(lake.github_day(window.first).glob("*.parquet"))] == events
    assert set(read_statuses(lake, window)[window.first]) == {"ok"}
    assert mark_of_unsettled(lake, longer.first).exists(), "it is tried again"
    hour.write_bytes(content)
    assert bring_window(lake, longer, fetching, EventRules(), now=LATER) == [longer.first]
    assert not mark_of_unsettled(lake, longer.first).exists()
    assert [path.read_bytes() for path in sorted(lake.github_day(window.first).glob("*.parquet"))] == events


def test_raw_hours_that_a_killed_process_did_not_come_to_drop_are_dropped_the_next_time(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive"
    write_days(archive, WORLD, TWO_DAYS)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pipeline.sources.gharchive.day.flush_reading", killed)
        with pytest.raises(KeyboardInterrupt):
            brought(lake, archive, days=TWO_DAYS)
    assert account_path(lake, TWO_DAYS.first).exists()
    assert all(raw_path(lake, TWO_DAYS.first, hour).exists() for hour in HOURS)
    assert brought(lake, archive, days=TWO_DAYS) == list(TWO_DAYS)
    assert not any(raw_path(lake, day, hour).exists() for day in TWO_DAYS for hour in HOURS)


def test_a_folder_without_an_hour_of_the_window_is_named(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"no hour from {DAYS.first} to {DAYS.last} was found at"):
        brought(lake, tmp_path)


def test_an_archive_out_of_reach_is_said_when_something_is_wanted(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="LDG_GHARCHIVE_URL"):
        brought(lake, tmp_path / "nowhere")
