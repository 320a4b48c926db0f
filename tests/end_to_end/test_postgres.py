"""The system on a real PostgreSQL: services that lose power, a backup restored."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRunStatus

from assets.headless.instance import HEADLESS, instance_of
from assets.headless.steps import Step, materialize
from assets.system import build_definitions
from pipeline.settings import Settings
from tests.office import write_office
from tests.postgres import Cluster, running_cluster
from tests.services import Services
from tests.whole_system import (
    OF_A_SERVER,
    copy_world,
    environment,
    wait_for,
)

pytestmark = pytest.mark.slow

DAYS = ["2014-12-19", "2014-12-20"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def home(built_world: Path, tmp_path: Path) -> Path:
    """A home with the sample world's raw files, and nothing made of them."""
    copy_world(built_world, tmp_path / "home")
    return tmp_path / "home"


def store_of(home: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> DagsterInstance:
    """The instance of a home with its store at an address, as every process of it has."""
    for name, text in environment(home, LDG_STORE=address).items():
        monkeypatch.setenv(name, text)
    return instance_of(Settings.load())


def test_services_that_lose_power_go_on_and_a_backup_is_restored(
    home: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.create("services")
    services = Services(environment(home, LDG_STORE=address), tmp_path / "services")
    try:
        services.start_all()
        wait_for(services.has_assets, pause=OF_A_SERVER)
        backfill = services.backfill(DAYS)
        wait_for((home / "raw" / "gharchive" / DAYS[0].replace("-", "/")).exists)
        services.kill_all()
        services.start_all()
        wait_for(lambda: services.outcome(backfill), pause=4 * OF_A_SERVER)  # for a minute or more
        assert services.outcome(backfill) == "COMPLETED_SUCCESS"
    finally:
        services.kill_all()
    assert not (home / "dagster" / "history").exists(), "SQLite files beside the database"
    with store_of(home, address, monkeypatch) as instance:
        partitions = instance.get_materialized_partitions(AssetKey("github_events"))
        assert partitions == set(DAYS)
        statuses = [run.status for run in instance.get_runs()]
        assert statuses.count(DagsterRunStatus.SUCCESS) == 1
        assert set(statuses) <= {
            DagsterRunStatus.SUCCESS,
            DagsterRunStatus.FAILURE,
        }  # a killed one was retried
        history = [(run.run_id, run.status, run.tags) for run in instance.get_runs()]

    dump = tmp_path / "store.dump"
    cluster.call("pg_dump", "--format=custom", f"--file={dump}", "services")
    restored = cluster.create("restored")
    cluster.call("pg_restore", "--no-owner", "--dbname=restored", str(dump))
    write_office(home)
    with store_of(home, restored, monkeypatch) as instance:
        job = build_definitions(Settings.load()).resolve_implicit_global_asset_job_def()
        materialize(Step((AssetKey(["office", "event_table"]),)), job, instance)
        runs = instance.get_runs()
        assert [(run.run_id, run.status, run.tags) for run in runs[-len(history) :]] == history
        added = runs[: -len(history)]
        assert added
        assert all(HEADLESS.items() <= run.tags.items() for run in added)
