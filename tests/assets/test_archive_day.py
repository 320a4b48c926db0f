"""A day of the archive as an asset, with hours that are not there."""

import gzip
import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from dagster import DagsterInstance, ExecuteInProcessResult, JobDefinition, RetryRequested

from assets import retries
from assets.partitions import day_range
from assets.system import build_definitions
from pipeline.settings import Settings
from tests.pipeline.sources.gharchive.archive_server import Archive, serving

DAY = date(2015, 1, 2)


def archive_job(settings: Settings) -> JobDefinition:
    return build_definitions(settings).resolve_job_def("archive_day")


def bring_day(job: JobDefinition, day: date = DAY) -> ExecuteInProcessResult:
    return job.execute_in_process(partition_key=day.isoformat(), instance=DagsterInstance.ephemeral())


def metadata(result: ExecuteInProcessResult) -> dict[str, object]:
    (event,) = result.asset_materializations_for_node("github_events")
    return {name: value.value for name, value in event.metadata.items()}


def test_a_day_with_one_hour_tells_of_the_others(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    event = {
        "id": "1",
        "type": "WatchEvent",
        "actor": {"id": 7, "login": "ada"},
        "repo": {"id": 8, "name": "bob/tools"},
        "payload": {"action": "started"},
        "created_at": "2015-01-02T03:00:00Z",
    }
    (archive / f"{DAY}-3.json.gz").write_bytes(gzip.compress(json.dumps(event).encode() + b"\n"))
    settings = Settings(home=tmp_path / "home", github_end=DAY, gharchive_url=str(archive))
    shown = metadata(bring_day(archive_job(settings)))
    assert (shown["dagster/row_count"], shown["hours_ok"], shown["hours_missing"]) == (1, 1, 23)
    assert shown["complete"] is True


def test_a_day_without_any_hour_is_accounted_for_too(tmp_path: Path) -> None:
    result = bring_day(
        archive_job(Settings(home=tmp_path / "home", github_end=DAY, gharchive_url=str(tmp_path)))
    )
    assert metadata(result)["dagster/row_count"] == 0
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    assert checks["every_event_accounted_for"]


def test_a_day_that_is_not_whole_stays_red_until_it_is(tmp_path: Path) -> None:
    archive, home = tmp_path / "archive", tmp_path / "home"
    archive.mkdir()
    torn = archive / f"{DAY}-3.json.gz"
    torn.write_bytes(b"<html>no hour file</html>")
    job = archive_job(
        Settings(home=home, github_end=DAY + timedelta(days=1), gharchive_url=str(archive), retry_seconds=0)
    )

    def verdict(day: date) -> bool:
        checks = bring_day(job, day).get_asset_check_evaluations()
        return next(check.passed for check in checks if check.check_name == "no_hour_failed")

    assert not verdict(DAY)
    assert not verdict(DAY + timedelta(days=1)), "a good day does not hide the one before"
    torn.write_bytes(gzip.compress(b""))
    assert verdict(DAY)


def test_an_archive_that_cannot_be_reached_fails_the_run_without_telling_its_password(tmp_path: Path) -> None:
    url = "http://someone:s3cret@127.0.0.1:9/mirror?token=t0ken"
    settings = Settings(home=tmp_path / "home", github_end=DAY, gharchive_url=url, retry_seconds=0)
    job = archive_job(settings)
    with DagsterInstance.ephemeral() as instance:
        with pytest.raises(ConnectionError, match=r"http://127.0.0.1:9/mirror \(LDG_GHARCHIVE_URL\)"):
            job.execute_in_process(partition_key=DAY.isoformat(), instance=instance)
        (run,) = instance.get_runs()
        story = "\n".join(map(str, instance.all_logs(run.run_id)))
    assert "cannot be reached" in story
    assert not [word for word in ("someone", "s3cret", "t0ken") if word in story]


def test_an_address_without_an_hour_of_several_days_is_named_without_its_password(tmp_path: Path) -> None:
    with serving(Archive()) as archive:
        url = archive.url.replace("http://", "http://someone:s3cret@") + "/mirror?token=t0ken"
        end = DAY + timedelta(days=1)
        job = archive_job(Settings(home=tmp_path / "home", gharchive_url=url, github_end=end))
        range_of_days = day_range(DAY, DAY + timedelta(days=1))
        with pytest.raises(FileNotFoundError) as error:
            job.execute_in_process(tags=range_of_days, instance=DagsterInstance.ephemeral())
    assert str(error.value) == (
        f"no hour from 2015-01-02 to 2015-01-03 was found at {archive.url}/mirror (48 missing, 0 failed): "
        "check LDG_GHARCHIVE_URL and the days that are asked for"
    )


def test_hours_that_failed_are_asked_for_twice_more_before_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / f"{DAY}-3.json.gz").write_bytes(b"<html>no hour file</html>")
    settings = Settings(home=tmp_path / "home", github_end=DAY, gharchive_url=str(archive), retry_seconds=30)
    waits = []

    def sooner(max_retries: int, seconds_to_wait: float) -> RetryRequested:
        waits.append(seconds_to_wait)
        return RetryRequested(max_retries=max_retries, seconds_to_wait=0.01)

    monkeypatch.setattr(retries, "RetryRequested", sooner)
    result = bring_day(archive_job(settings))
    assert result.success
    assert len([event for event in result.all_events if event.is_step_up_for_retry]) == 2
    assert waits == [30, 60]
    assert metadata(result)["complete"] is False
