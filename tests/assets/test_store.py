"""Where runs are kept is one setting, and a history is copied in its order."""

import sqlite3
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.test_utils import create_run_for_test

from assets.dagster_home import dagster_environment
from assets.headless.instance import instance_of
from assets.store import postgres_store, sqlite_store, with_driver
from assets.store.migrate import POINTER, in_order_of_time, read_shard, shard_paths
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


def store_events(path: Path, run: str, *times: str) -> None:
    """A file of events as Dagster leaves it."""
    with sqlite3.connect(path) as file:
        file.execute(
            "create table event_logs (id integer primary key, run_id, event, dagster_event_type, timestamp, "
            "step_key, asset_key, partition)"
        )
        for time in times:
            file.execute(
                "insert into event_logs (run_id, event, timestamp) values (?, ?, ?)", (run, time, time)
            )
    file.close()


def test_events_of_runs_side_by_side_come_in_order_of_time_and_those_of_a_run_in_their_own(
    tmp_path: Path,
) -> None:
    store_events(tmp_path / "index.db", "a", "1")
    store_events(tmp_path / "a.db", "a", "1", "4", "3", "7")  # two processes of a run, clocks apart
    store_events(tmp_path / "b.db", "b", "2", "5")
    store_events(tmp_path / "c.db", "c", "8")
    store_events(tmp_path / "d.db", "d")
    store_events(tmp_path / ".db", "", "6")
    shards = [shard for path in shard_paths(tmp_path) if (shard := read_shard(path))]
    events = [(event.run_id, event.event) for event in in_order_of_time(shards)]
    assert events == [
        *(("a", "1"), ("b", "2"), ("a", "4"), ("a", "3")),
        *(("b", "5"), ("", "6"), ("a", "7"), ("c", "8")),
    ]


def test_what_points_at_an_event_points_at_its_new_number() -> None:
    text = (
        '{"tags": {"dagster/input_event_pointer/github/event_table": "12"}, "target": {"__class__": '
        '"AssetCheckEvaluationTargetMaterializationData", "storage_id": 12, "timestamp": 12.5}}'
    )
    pointed = POINTER.sub(lambda pointer: pointer[1] + "34", text)
    assert pointed == text.replace('"12"', '"34"').replace('"storage_id": 12,', '"storage_id": 34,')
