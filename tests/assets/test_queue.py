"""What may go on side by side, by the queue of `dagster.yaml` as the daemon reads it."""

from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, DagsterRunStatus, Definitions
from dagster._core.execution.api import create_execution_plan
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon

from assets.dagster_home import limit_trainings
from assets.system import build_definitions
from pipeline.settings import Settings
from tests.whole_system import environment


@pytest.fixture
def queued_definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Definitions:
    for name, text in environment(tmp_path).items():
        monkeypatch.setenv(name, text)
    return build_definitions(Settings(home=tmp_path))


def ask_for(
    definitions: Definitions, instance: DagsterInstance, job: str, status: DagsterRunStatus, *assets: AssetKey
) -> DagsterRun:
    """A run of a job, or of some assets of it, that is at work or waits."""
    chosen = definitions.resolve_job_def(job).get_subset(asset_selection=set(assets) or None)
    location = RegisteredCodeLocationOrigin("assets")  # ty: ignore[abstract-class-instantiation] - it is not
    here = RemoteRepositoryOrigin(location, "__repository__")
    return instance.create_run_for_job(
        chosen, create_execution_plan(chosen), status=status, remote_job_origin=here.get_job_origin(job)
    )


def test_what_fetches_is_never_queued_behind_what_trains(queued_definitions: Definitions) -> None:
    training = AssetKey(["github", "trained_models"])
    with DagsterInstance.get() as instance:
        for status in (DagsterRunStatus.STARTED,) * 2 + (DagsterRunStatus.QUEUED,) * 2:
            ask_for(queued_definitions, instance, "__ASSET_JOB", status, training)
        waiting = ask_for(queued_definitions, instance, "archive_day", DagsterRunStatus.QUEUED)
        following = ask_for(queued_definitions, instance, "follow_day", DagsterRunStatus.QUEUED)
        queue = QueuedRunCoordinatorDaemon(interval_seconds=1)
        # A pool that the queue meets for the first time is bounded from its second look on.
        queue._get_runs_to_dequeue(instance, instance.get_concurrency_config(), None)
        next_runs = queue._get_runs_to_dequeue(instance, instance.get_concurrency_config(), None)
    assert [run.run_id for run in next_runs] == [waiting.run_id, following.run_id]


@pytest.mark.parametrize("trainings", [1, 3])
def test_the_queue_starts_as_many_trainings_as_the_home_has_slots(
    queued_definitions: Definitions, tmp_path: Path, trainings: int
) -> None:
    limit_trainings(Settings(home=tmp_path, trainings=trainings))
    with DagsterInstance.get() as instance:
        for _ in range(trainings + 1):
            key = AssetKey(["github", "trained_models"])
            ask_for(queued_definitions, instance, "__ASSET_JOB", DagsterRunStatus.QUEUED, key)
        queue = QueuedRunCoordinatorDaemon(interval_seconds=1)
        next_runs = queue._get_runs_to_dequeue(instance, instance.get_concurrency_config(), None)
    assert len(next_runs) == trainings
