"""The store of runs: SQLite files of the home, or the database that LDG_STORE names."""

import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage

from assets.dagster_home import dagster_environment
from assets.headless.instance import instance_of
from assets.store import postgres_store, sqlite_store, with_driver
from pipeline.settings import SettingError, Settings
from tests.forks import FORKING
from tests.whole_system import PATIENCE, run_at_once

ADDRESS = "postgresql://ldg:s3cret@db.example/ldg?sslmode=require"


def test_without_an_address_runs_are_kept_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path)
    for name, text in dagster_environment(settings).items():
        monkeypatch.setenv(name, text)
    with instance_of(settings) as instance:
        assert isinstance(instance.event_log_storage, SqliteEventLogStorage)
    assert (tmp_path / "dagster" / "history").is_dir()


def open_store(folders: list[Path], together: Barrier) -> None:
    """Open each of the stores at the same moment as every other process."""
    for folder in folders:
        together.wait(PATIENCE)
        sqlite_store(folder)


@FORKING
def test_processes_that_open_a_new_home_at_the_same_moment_all_do(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(3)]
    assert run_at_once(open_store, folders, processes=4) == [0] * 4


def test_an_address_is_given_to_dagster_with_the_driver_it_brings() -> None:
    assert with_driver(ADDRESS) == "postgresql+psycopg2://ldg:s3cret@db.example/ldg?sslmode=require"


@pytest.mark.parametrize("address", ["mysql://ldg:s3cret@db/ldg", "postgresql://ldg:s3cret@db", "db.example"])
def test_what_is_no_database_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(SettingError, match=r"LDG_STORE is .* it takes an address such as") as refused:
        Settings.from_environment({"LDG_STORE": address})
    assert "s3cret" not in str(refused.value).partition("it takes")[0]


def test_a_missing_driver_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster_postgres", None)
    with pytest.raises(SettingError, match="`make postgres` installs it"):
        postgres_store(ADDRESS)
