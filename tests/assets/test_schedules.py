"""What runs by itself, and when."""

from datetime import UTC, datetime

from dagster import RunRequest, build_schedule_context

from assets.schedules import REFRESH_TAG, newest_archive_day


def test_the_schedule_asks_for_the_day_before() -> None:
    context = build_schedule_context(scheduled_execution_time=datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    request = newest_archive_day(context)
    assert isinstance(request, RunRequest)
    assert (request.partition_key, request.run_key) == ("2026-02-28", "2026-02-28")
    assert REFRESH_TAG.items() <= request.tags.items()


def test_the_schedule_runs_when_the_last_hour_of_a_day_is_settled() -> None:
    minute, hour, *rest = str(newest_archive_day.cron_schedule).split()
    assert rest == ["*", "*", "*"]
    assert int(hour) + int(minute) / 60 >= 12
