"""Where runs are kept is one setting."""

import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.test_utils import create_run_for_test

from assets.dagster_home import dagster_environment
from assets.headless.instance import instance_of
from assets.store import postgres_store, sqlite_store, with_driver
from assets.store.sqlite import shared_engine, shared_scripts
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


def test_a_statement_needs_no_engine_of_its_own_and_a_new_run_reads_no_scripts(tmp_path: Path) -> None:
    shared_scripts.cache_clear()
    made, scripts = [], []
    with instance_of(Settings(home=tmp_path)) as instance:
        for _ in range(3):
            instance.report_engine_event("at work", create_run_for_test(instance))
            made.append(shared_engine.cache_info().misses)
            scripts.append(shared_scripts.cache_info().misses)
    assert made == [made[0], made[0] + 1, made[0] + 2], "one for the file of each run"
    assert scripts == [1, 1, 1]


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
