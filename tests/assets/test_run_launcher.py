"""The launcher of the UI's runs: whose process is gone, and what a backfill sees of it."""

import logging
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.events import EngineEventData
from dagster._core.execution.asset_backfill import backfill_runs_are_complete
from dagster._core.storage.tags import BACKFILL_ID_TAG, ROOT_RUN_ID_TAG
from dagster._core.test_utils import create_run_for_test, instance_for_test
from dagster._daemon.monitoring.run_monitoring import monitor_started_run, monitor_starting_run

from assets.run_launcher import GONE, WatchfulRunLauncher

LOG = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterInstance]:
    """A store with the project's launcher and one retry of each run; every test has a backfill of its own."""
    overrides: dict[str, Any] = {
        "run_launcher": {"module": "assets.run_launcher", "class": "WatchfulRunLauncher"},
        "run_retries": {"enabled": True, "max_retries": 1, "retry_on_asset_or_op_failure": False},
        "run_monitoring": {"enabled": True, "start_timeout_seconds": 1},
    }
    with instance_for_test(overrides=overrides, temp_dir=str(tmp_path_factory.mktemp("store"))) as instance:
        yield instance


@pytest.fixture
def backfill(request: pytest.FixtureRequest) -> str:
    return request.node.name


def run_in(
    instance: DagsterInstance, backfill: str, status: DagsterRunStatus, retry_of: DagsterRun | None = None
) -> DagsterRun:
    first = retry_of.run_id if retry_of else None
    tags = {BACKFILL_ID_TAG: backfill} | ({ROOT_RUN_ID_TAG: first} if first else {})
    return create_run_for_test(instance, status=status, tags=tags, root_run_id=first, parent_run_id=first)


def fail(
    instance: DagsterInstance, backfill: str, run: DagsterRun, monkeypatch: pytest.MonkeyPatch
) -> list[bool]:
    """Let the daemon fail a run; whether a backfill that looks at that very moment takes all for ended."""
    looks = []
    handle = instance.run_storage.handle_run_event

    def handle_and_look(*arguments: Any) -> None:
        handle(*arguments)
        looks.append(backfill_runs_are_complete(backfill, instance, LOG))

    monkeypatch.setattr(instance.run_storage, "handle_run_event", handle_and_look)
    monkeypatch.setattr(instance.run_launcher, "check_run_worker_health", lambda _: GONE)
    record = instance.get_run_record_by_id(run.run_id)
    assert record is not None
    if run.status == DagsterRunStatus.STARTED:
        monitor_started_run(instance, None, record, LOG)  # ty: ignore[invalid-argument-type] - to resume runs
    else:
        monkeypatch.setattr("dagster._daemon.monitoring.run_monitoring.get_current_timestamp", lambda: 1e12)
        monitor_starting_run(instance, record, LOG)
    return looks


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTED, DagsterRunStatus.NOT_STARTED])
def test_a_backfill_that_looks_while_a_run_is_failed_waits_for_its_retry(
    instance: DagsterInstance, backfill: str, status: DagsterRunStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(instance, backfill, status)
    assert fail(instance, backfill, run, monkeypatch) == [False]
    failed = instance.get_run_by_id(run.run_id)
    assert failed is not None
    assert failed.status == DagsterRunStatus.FAILURE
    assert failed.is_complete_and_waiting_to_retry


def test_a_backfill_does_not_wait_for_a_run_that_had_all_its_retries(
    instance: DagsterInstance, backfill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_in(instance, backfill, DagsterRunStatus.FAILURE)
    retry = run_in(instance, backfill, DagsterRunStatus.STARTED, retry_of=first)
    assert fail(instance, backfill, retry, monkeypatch) == [True]


@pytest.mark.parametrize("home", ["this one", "another"])
def test_a_process_with_the_number_of_a_runs_is_the_runs_if_it_is_of_this_home(
    instance: DagsterInstance, backfill: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "this one")
    run = run_in(instance, backfill, DagsterRunStatus.STARTED)
    launcher = instance.run_launcher
    assert isinstance(launcher, WatchfulRunLauncher)
    with subprocess.Popen(["sleep", "600"], env={**os.environ, "DAGSTER_HOME": home}) as process:
        try:
            instance.report_engine_event("began", run, EngineEventData({"pid": process.pid}))
            assert launcher.process_is_here(run) == (home == "this one")
        finally:
            process.kill()
    assert not launcher.process_is_here(run)
