"""A followed day as Dagster makes it: brought, scored, learned from, forecast, judged."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from dagster import DagsterInstance, ExecuteInProcessResult, RunRequest, build_schedule_context

from assets.lanes.following import FOLLOWING
from assets.schedules import schedules
from assets.system import build_definitions
from pipeline import clock
from pipeline.following.record import followed_days
from pipeline.settings import Settings
from tests.todays_archive import World, write_days

FIRST = date(2024, 5, 1)
DAYS = [FIRST + timedelta(days=number) for number in range(10)]


def tick(settings: Settings) -> RunRequest:
    moment = datetime(2026, 3, 1, 12, 45, tzinfo=UTC)
    context = build_schedule_context(scheduled_execution_time=moment, resources={"settings": settings})
    _, follow_newest_day = schedules(settings)
    request = follow_newest_day(context)
    assert isinstance(request, RunRequest)
    assert request.partition_key == request.run_key
    return request


def test_each_tick_follows_the_day_before_it_or_the_last_one_of_a_folder(tmp_path: Path) -> None:
    assert tick(Settings(home=tmp_path)).run_key == "2026-02-28"
    (tmp_path / "2026" / "02" / "11").mkdir(parents=True)
    for path in ("2026-02-10-0.json.gz", "2026/02/11/2026-02-11-5.json.gz", "2026-03-01-0.json.gz"):
        (tmp_path / path).touch()
    assert tick(Settings(home=tmp_path, gharchive_url=str(tmp_path))).run_key == "2026-02-11"


def test_a_day_after_the_end_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "2026-02-10-0.json.gz").touch()
    settings = Settings(home=tmp_path / "home", gharchive_url=str(tmp_path))
    job = build_definitions(settings).resolve_job_def("follow_day")
    with pytest.raises(ValueError, match="ends on 2026-02-10: 2026-02-11 cannot be followed"):
        job.execute_in_process(partition_key="2026-02-11", instance=DagsterInstance.ephemeral())
    assert not settings.lake.github_accounts.exists()


@pytest.mark.slow
def test_a_followed_day_shows_its_numbers_beside_those_of_recency_and_judges_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_days(tmp_path / "archive", World(people=12, circle=6, crowd=20, events=240), DAYS)
    settings = Settings(
        home=tmp_path / "home", gharchive_url=str(tmp_path / "archive"), follow_days=8, follow_nodes=8
    )
    job = build_definitions(settings).resolve_job_def("follow_day")

    def follow(day: date, now: date) -> ExecuteInProcessResult:
        monkeypatch.setattr(clock, "now", lambda: datetime(now.year, now.month, now.day, 12, tzinfo=UTC))
        return job.execute_in_process(
            partition_key=day.isoformat(), instance=DagsterInstance.ephemeral(), tags={}
        )

    assert follow(DAYS[-3], DAYS[-2]).success
    done = follow(DAYS[-1], DAYS[-1] + timedelta(days=4))
    assert followed_days(settings.lake) == DAYS[-3:]
    *earlier, event = done.asset_materializations_for_node("following__day")
    without_run = DAYS[-2].isoformat()
    assert [(made.asset_key, made.partition) for made in earlier] == [(key, without_run) for key in FOLLOWING]
    numbers = {name: value.value for name, value in event.metadata.items()}
    for metric in ("mar", "hits_at_10", "recency_mar", "recency_hits_at_10"):
        assert isinstance(numbers[metric], float)
    checks = {check.check_name: check.passed for check in done.get_asset_check_evaluations()}
    assert checks["every_day_whole"]
    assert checks["event_rate_steady"]
    assert checks["ahead_of_recency"]
    assert not checks["up_to_date"], "two days and more have passed since"
