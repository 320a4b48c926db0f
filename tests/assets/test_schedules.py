"""What runs by itself, and when."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from dagster import RunRequest, SkipReason, build_schedule_context

from assets.partitions import day_range
from assets.schedules import REFRESH_TAG, schedules
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path


@pytest.fixture
def followed_settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, github_end=date(2026, 12, 31))


def tick(settings: Settings) -> RunRequest | SkipReason:
    context = build_schedule_context(
        scheduled_execution_time=datetime(2026, 3, 1, 12, 30, tzinfo=UTC), resources={"settings": settings}
    )
    newest_archive_day, _ = schedules(settings)
    answer = newest_archive_day(context)
    assert isinstance(answer, RunRequest | SkipReason)
    return answer


def ask(settings: Settings) -> RunRequest:
    request = tick(settings)
    assert isinstance(request, RunRequest)
    assert request.run_key == "2026-02-28"
    assert REFRESH_TAG.items() <= request.tags.items()
    return request


def brought(lake: Lake, *days: date) -> None:
    lake.github_accounts.mkdir(parents=True)
    for day in days:
        account_path(lake, day).touch()


def test_the_schedule_asks_for_the_day_before(followed_settings: Settings) -> None:
    newest = date(2026, 2, 28)
    assert day_range(newest, newest).items() <= ask(followed_settings).tags.items()


def test_the_schedule_asks_again_for_the_days_of_a_fortnight_that_were_brought(
    followed_settings: Settings,
) -> None:
    brought(followed_settings.lake, date(2026, 2, 14), date(2026, 2, 20), date(2026, 2, 25))
    assert day_range(date(2026, 2, 20), date(2026, 2, 28)).items() <= ask(followed_settings).tags.items()


def test_the_schedule_asks_for_no_day_after_the_window_but_for_late_data_of_its_last_days(
    tmp_path: Path,
) -> None:
    last = date(2026, 2, 25)
    assert day_range(last, last).items() <= ask(Settings(home=tmp_path, github_end=last)).tags.items()
    refused = tick(Settings(home=tmp_path, github_end=date(2026, 2, 14)))
    assert isinstance(refused, SkipReason)
    assert "LDG_GITHUB_END is 2026-02-14" in str(refused.skip_message)


def test_schedules_tick_when_the_last_hour_of_a_day_is_settled_or_when_one_says() -> None:
    for schedule in schedules(Settings()):
        minute, hour, *rest = str(schedule.cron_schedule).split()
        assert rest == ["*", "*", "*"]
        assert int(hour) + int(minute) / 60 >= 12
    assert {schedule.cron_schedule for schedule in schedules(Settings(schedule="0 18 * * 1"))} == {
        "0 18 * * 1"
    }
