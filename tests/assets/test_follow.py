"""`ldg follow` and `ldg forecast` on a local folder of hour files in today's format."""

import os
import shutil
from datetime import date, datetime
from pathlib import Path

import duckdb
import pytest
from dagster._core.definitions.data_version import DATA_VERSION_TAG

from assets.headless.instance import instance_of
from assets.lanes.following import ARCHIVE
from assets.lanes.following import DAY as DAY_KEY
from assets.versions import version_of_facts
from pipeline.following.files import FollowingFiles
from pipeline.following.record import read_record
from pipeline.following.window import DAY, Window
from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path
from tests.command import clean_environment, environment_changed, ldg, ldg_process
from tests.followed_world import store_followed
from tests.todays_archive import World, write_days
from tests.whole_system import run_ldg

pytestmark = pytest.mark.slow
WORLD = World(people=8, circle=4, crowd=10, events=240)


LAST = date(2026, 6, 11)  # the archive ends here
FOLLOW = ("follow", "--from", "2026-06-09", "--to", "2026-06-20")


@pytest.fixture(scope="module")
def followed_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home that follows a folder of hour files to its end, and what the command said."""
    archive, home = tmp_path_factory.mktemp("archive"), tmp_path_factory.mktemp("followed")
    write_days(archive, WORLD, Window(date(2026, 6, 1), LAST))
    (home / ".env").write_text(f"LDG_GHARCHIVE_URL='{archive}'\nLDG_FOLLOW_DAYS=8\nLDG_FOLLOW_NODES=8\n")
    return home, run_ldg("--home", str(home), *FOLLOW, environment=clean_environment())


@pytest.fixture
def followed_home(followed_folder: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of that home, to be changed."""
    return shutil.copytree(followed_folder[0], tmp_path / "home")


def test_a_past_stretch_is_replayed_and_asked_about(followed_home: Path) -> None:
    with duckdb.connect(str(followed_home / "warehouse.duckdb"), read_only=True) as warehouse:
        assert warehouse.sql("select count(*) from track_record").fetchall() == [(6,)]
        assert warehouse.sql("select count(distinct as_of) from forecasts").fetchall() == [(4,)]
        ((name, partner),) = warehouse.sql("select name, partner_name from today limit 1").fetchall()
    output = ldg("--home", followed_home, "forecast", name.upper()).stdout
    assert output.startswith(f"{name} as of 2026-06-12 00:00 UTC, by rem\n   1  ")
    assert partner in output.splitlines()[1]
    assert not list((followed_home / "raw").rglob("*.json.gz"))
    assert "nothing changed" in ldg("--home", followed_home, *FOLLOW).stdout


def test_a_folder_is_followed_up_to_the_newest_day_that_it_has(followed_folder: tuple[Path, str]) -> None:
    home, output = followed_folder
    assert "ends on 2026-06-11\n" in output
    assert "Followed 2026-06-08 to 2026-06-11" in output
    assert not account_path(Lake(home), LAST + DAY).exists(), "no later hour is asked for"
    later = ldg("--home", home, "follow", "--from", "2026-06-12", "--to", "2026-06-20")
    assert (later.returncode, "after the last day, 2026-06-11" in later.stderr) == (2, True)


def test_nothing_is_printed_after_the_last_sentence(followed_home: Path) -> None:
    assert ldg("--home", followed_home, "follow", "--undo-from", str(LAST)).returncode == 0
    ended = ldg_process("--home", followed_home, *FOLLOW)
    assert ended.stdout.endswith(f"Followed {LAST} to {LAST}; `ldg forecast NAME` says who is next\n")
    assert ended.stderr.endswith("warehouse.duckdb is built from the followed days\n")


def test_a_folder_without_hour_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive" / "2026" / "06").mkdir(parents=True)
    empty = ldg("--home", tmp_path / "home", *FOLLOW, LDG_GHARCHIVE_URL=str(tmp_path / "archive"))
    assert (empty.returncode, "has no hour file up to 2026-06-20" in empty.stderr) == (1, True)


def test_followed_days_are_taken_back_and_followed_again(followed_home: Path) -> None:
    undone = ldg("--home", followed_home, "follow", "--undo-from", "2026-06-10")
    assert undone.stdout == "Took back 2026-06-10 to 2026-06-11; followed up to 2026-06-09\n"
    with duckdb.connect(str(followed_home / "warehouse.duckdb"), read_only=True) as warehouse:
        assert warehouse.sql("select max(as_of) from forecasts").fetchall() == [(datetime(2026, 6, 10),)]
    refused = ldg("--home", followed_home, "follow", "--undo-from", "2026-06-10")
    assert refused.returncode == 2
    assert "2026-06-10 is not followed" in refused.stderr
    assert "followed are 2026-06-08 to 2026-06-09" in refused.stderr
    both = ldg("--home", followed_home, "follow", "--undo-from", "2026-06-10", "--to", "2026-06-20")
    assert (both.returncode, "neither --from nor --to" in both.stderr) == (2, True)
    assert "Followed 2026-06-10 to 2026-06-11" in ldg("--home", followed_home, *FOLLOW).stdout


def test_a_warehouse_without_the_newest_days_is_built_although_nothing_new_is_followed(
    followed_home: Path,
) -> None:
    warehouse = followed_home / "warehouse.duckdb"
    warehouse.unlink()  # as after a kill during the first build
    assert "nothing changed" in ldg("--home", followed_home, *FOLLOW).stdout
    assert warehouse.exists()
    os.utime(warehouse, ns=(0, 0))  # as after a kill during a later one
    ldg("--home", followed_home, *FOLLOW)
    built = warehouse.stat().st_mtime_ns
    assert built > 0
    ldg("--home", followed_home, *FOLLOW)
    assert warehouse.stat().st_mtime_ns == built


def test_days_followed_in_a_shell_are_materialized_in_the_ui(followed_home: Path) -> None:
    with environment_changed(clean_environment()), instance_of(Settings(home=followed_home)) as instance:
        for key in (ARCHIVE, DAY_KEY):
            partitions = instance.get_materialized_partitions(key)
            assert partitions == {f"2026-06-{day:02}" for day in range(8, 12)}
        event = instance.get_latest_materialization_event(DAY_KEY)
    assert event is not None
    made = event.asset_materialization
    assert made is not None
    record = read_record(Lake(followed_home), LAST)
    assert record is not None
    assert made.partition == "2026-06-11"
    assert made.tags is not None
    assert made.tags[DATA_VERSION_TAG] == version_of_facts(record.digest).value
    assert {"mar", "recency_mar", "hits_at_10", "events", "seconds"} <= made.metadata.keys()


def test_a_day_without_a_forecast_is_said_to_have_none(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    *_, newest = store_followed(lake, ["ada", "bob", "cleo"])
    forecasts = FollowingFiles.of(lake).forecasts(newest)
    write_parquet(read_parquet(forecasts).clear(), forecasts)
    asked = ldg("--home", tmp_path, "forecast", "ada")
    assert (asked.returncode, f"no forecast as of the end of {newest}" in asked.stderr) == (1, True)


def test_what_cannot_be_followed_is_said_in_a_sentence(tmp_path: Path) -> None:
    nobody = ldg("--home", tmp_path / "home", "forecast", "ann")
    assert nobody.returncode == 2
    (tmp_path / "home").mkdir()
    early = ldg("--home", tmp_path / "home", "forecast", "ann")
    assert (early.returncode, "nothing is followed" in early.stderr) == (2, True)
    future = ldg("--home", tmp_path / "home", "follow", "--to", "2100-01-01")
    assert (future.returncode, "which is not over" in future.stderr) == (2, True)
    unknown = ldg("--home", tmp_path / "home", "follow", "--from", "2026-06-09", "--to", "2026-06-01")
    assert (unknown.returncode, "after the last day" in unknown.stderr) == (2, True)
