"""A path is never taken as a pattern: a home may be called anything, and its neighbours stay unread."""

import shutil
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.event_table import Split, dataset_names, read_event_table, write_event_table
from pipeline.lake import Lake, write_parquet
from pipeline.results.baselines import baselines
from pipeline.results.warehouse import build_warehouse
from pipeline.settings import Settings
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork import (
    find_subnetwork,
    read_subnetwork,
    subnetwork_table,
    write_subnetwork,
)
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule
from pipeline.sources.registry import registry
from pipeline.sources.social_evolution.events import scan_rows
from tests.pipeline.sources.gharchive.making import lines, modern, store

# As patterns these match the neighbours `a 1 b`, or nothing at all.
HOMES = ["a [1] *b", "**", "{a,b} ["]
NEIGHBOUR = "a 1 b"
TOML = '[events]\nfile = "{file}"\n[split]\ntest_start = 2024-02-01\n'
FIRST_DAY, DAYS = date(2020, 5, 5), 2


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that nobody changes."""
    home = tmp_path_factory.mktemp("neighbour")
    own_events(home, "e.csv", "stranger")
    archive_days(home, "stranger")
    return home


@pytest.fixture(params=HOMES)
def odd_home(request: pytest.FixtureRequest, neighbour: Path, tmp_path: Path) -> Path:
    """A home beside another one that its name, as a pattern, would match."""
    shutil.copytree(neighbour, tmp_path / NEIGHBOUR)
    home = tmp_path / request.param
    own_events(home, "e.csv", "member")
    archive_days(home, "member")
    return home


def own_events(home: Path, file: str, person: str) -> None:
    folder = home / "own" / "letters"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.toml").write_text(TOML.format(file=file))
    months = "".join(f"{person},friend,2024-{month:02d}-05 00:00:00\n" for month in range(1, 4))
    (folder / file).write_text(f"source,target,time\n{months}")


def archive_days(home: Path, person: str) -> None:
    """Days of hour files, fetched and read."""
    lake, source = Lake(home), home / "archive"
    for day in (FIRST_DAY + timedelta(days=number) for number in range(DAYS)):
        events = [
            modern(f"{day}{kind}{way}", kind, actor, f"{owner}/tool", f"{day}T00:00:0{way}Z", **more)
            for way, (actor, owner) in enumerate([(person, "friend"), ("friend", person)])
            for kind, more in (
                ("WatchEvent", {}),
                ("FollowEvent", {"payload": {"target": {"id": 9, "login": owner}}}),
            )
        ]
        store(source / file_name(day, 0), lines(events))
        fetch_day(day, lake, FetchSettings(base=str(source)), now=datetime(2021, 1, 1))
        read_day(day, lake, EventRules(communications=frozenset({"WatchEvent"})))


def test_the_whole_pipeline_runs_in_a_home_of_any_name_and_reads_nothing_beside_it(odd_home: Path) -> None:
    settings = Settings(home=odd_home)
    lake = settings.lake
    (spec,) = (spec for spec in registry(settings) if spec.name == "letters")
    write_event_table(spec.build(settings), lake.dataset("letters"))
    write_parquet(
        baselines(read_event_table(lake.dataset("letters"))), lake.dataset("letters") / "baselines.parquet"
    )
    rule = SubnetworkRule(
        min_communications=1, min_associations=0, start=FIRST_DAY, end=FIRST_DAY + timedelta(days=DAYS)
    )
    write_subnetwork(find_subnetwork(lake.github_events, rule), lake.github_subnetwork)
    subnetwork = read_subnetwork(lake.github_subnetwork)
    split = Split(datetime(2020, 5, 6))
    write_event_table(subnetwork_table(lake.github_events, subnetwork, split), lake.dataset("github"))
    build_warehouse(lake)
    assert dataset_names(lake) == ["github", "letters"]
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        names = warehouse.execute("select distinct name from dataset_nodes order by all").fetchall()
        actors = warehouse.execute("select distinct actor from github_events order by all").fetchall()
        counts = warehouse.execute("select count(*), sum(kept) from gharchive_files").fetchall()
    assert names == actors == [("friend",), ("member",)]
    assert counts == [(48, 8)]


@pytest.mark.parametrize("file", ["e[1].csv", "e?.csv", "e*.csv"])
def test_a_file_with_a_patterns_characters_is_itself(file: str, tmp_path: Path) -> None:
    own_events(tmp_path, file, "member")
    (tmp_path / "own" / "letters" / "e1.csv").write_text("source,target,time\nwrong,file,2024-01-01\n")
    settings = Settings(home=tmp_path)
    assert registry(settings)[-1].build(settings).nodes["name"].to_list() == ["friend", "member"]


def test_a_parquet_file_with_a_patterns_characters_is_itself(tmp_path: Path) -> None:
    own_events(tmp_path, "e.csv", "member")
    folder = tmp_path / "own" / "letters"
    rows = pl.read_csv(folder / "e.csv")
    rows.write_parquet(folder / "e[1].parquet")
    rows.with_columns(source=pl.lit("wrong")).write_parquet(folder / "e1.parquet")
    (folder / "dataset.toml").write_text(TOML.format(file="e[1].parquet"))
    settings = Settings(home=tmp_path)
    assert registry(settings)[-1].build(settings).nodes["name"].to_list() == ["friend", "member"]


def test_a_file_of_social_evolution_is_itself_in_a_folder_of_any_name(tmp_path: Path) -> None:
    for folder, text in (("a [1]", "right"), ("a 1", "wrong")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Calls.csv").write_text(f"user\n{text}\n")
    assert scan_rows(tmp_path / "a [1]" / "Calls.csv").collect().row(0)[1] == "right"
