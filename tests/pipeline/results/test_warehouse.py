"""The warehouse has every promised table, no ghosts, and is never seen half built."""

import io
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest
from rich.console import Console

from pipeline import variant_names
from pipeline.event_table import EventTable, read_event_table, write_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.names import baseline_label
from pipeline.results import published
from pipeline.results.baselines import baselines
from pipeline.results.dataset_stats import dataset_stats
from pipeline.results.metrics import write_link_prediction
from pipeline.results.tables import sql_literal
from pipeline.results.warehouse import build_warehouse
from pipeline.schemas import (
    PUBLISHED,
    QUARANTINE,
    RESULTS,
    SUBNETWORK,
    TRACK_RECORD_TABLES,
    TRACK_RECORD_VIEWS,
    WAREHOUSE,
)
from pipeline.show.tables import best_against_counting, best_of, table_3_verdict
from pipeline.show.terminal import print_tables
from pipeline.sources.gharchive.account import account_path
from pipeline.sources.gharchive.checks import failed_hours
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import fetch_social_evolution
from tests.small_world import store_results, store_table, store_variant, write_results

ROOT = Path(__file__).parents[3]
# Full of rows once a dataset has results and the archive a day.
FOLLOWING = {*TRACK_RECORD_TABLES, *TRACK_RECORD_VIEWS}
# Contributions are a relational-event model's alone.
FILLED = set(WAREHOUSE) - set(PUBLISHED) - FOLLOWING - {"left_out", "published_datasets", "contributions"}


# The paper's models, DyRep with a relation that is not the dataset's own, and one that nobody knows.
MODELS = (
    *("dyrep-concat", "dyrep-bilinear", "dyrep_friend-bilinear", "brand_new-bilinear"),
    *("ldg_learned_uniform-bilinear", "ldg_learned_sparse-bilinear"),
)
DAYS = ("2013-01-01", "2013-01-02")
NAN = float("nan")


def fill(lake: Lake) -> EventTable:
    """A dataset with everything that is made of it."""
    return store_results(
        lake,
        variants=("dyrep-concat", "dyrep-bilinear", "ldg_learned_sparse-bilinear"),
        snapshots=3,
        names=("ann", "bob"),
    )


def store_archive(lake: Lake, day: str) -> None:
    """One file day of the archive: an account of its hours, and its events."""
    moment = datetime.fromisoformat(f"{day}T10:00:00")
    write_parquet(
        pl.DataFrame(
            {
                "file": [f"{day}-{hour}.json.gz" for hour in range(2)],
                "day": date.fromisoformat(day),
                "hour": [0, 1],
                "status": ["ok", "missing"],
                "bytes": [10, None],
                "etag": ["a", None],
                "events": [3, 0],
                "kept": [1, 0],
                "ignored": [2, 0],
                "duplicates": 0,
                "quarantined": 0,
                "fetched_at": moment,
            }
        ),
        lake.github_accounts / f"date={day}.parquet",
    )
    write_parquet(
        pl.DataFrame(
            {
                "event_id": ["1"],
                "type": ["Push"],
                "kind": ["communication"],
                "actor": ["ann"],
                "actor_id": [1],
                "counterpart": ["bob"],
                "repo": ["bob/x"],
                "created_at": pl.Series([moment], dtype=pl.Datetime("us")),
                "file": [f"{day}-0.json.gz"],
            }
        ),
        lake.github_events / f"date={day}" / "events.parquet",
    )
    unread = {"file": f"{day}-0.json.gz", "offset": 0, "reason": "no JSON", "bytes": 4, "excerpt": "{..."}
    write_parquet(
        pl.DataFrame([unread], schema=QUARANTINE.types), lake.github_quarantine / f"date={day}" / "00.parquet"
    )
    member = ("ann", 3, 1, 2, 1)
    write_parquet(
        pl.DataFrame([member], schema=SUBNETWORK.types, orient="row"),
        lake.github_subnetwork / "accounts.parquet",
    )


def query(lake: Lake, sql: str) -> list[tuple]:
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        return warehouse.execute(sql).fetchall()


@contextmanager
def changed(lake: Lake, change: str) -> Generator[duckdb.DuckDBPyConnection]:
    """The warehouse with its rows changed; the change is taken back."""
    with duckdb.connect(str(lake.warehouse)) as warehouse:
        warehouse.begin()
        warehouse.execute(change)
        yield warehouse
        warehouse.rollback()


def query_after(lake: Lake, change: str, sql: str) -> list[tuple]:
    """What the warehouse answers once its rows are changed."""
    with changed(lake, change) as warehouse:
        return warehouse.execute(sql).fetchall()


@contextmanager
def held(lake: Lake, *, read_only: bool = True) -> Generator[Lake]:
    """Keep the warehouse open: whoever asks it the same way meanwhile joins instead of opening it anew."""
    with duckdb.connect(str(lake.warehouse), read_only=read_only):
        yield lake


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A home with one of the paper's datasets, days of the archive and a warehouse; nobody changes it."""
    lake = Lake(tmp_path_factory.mktemp("full") / "it's home")
    table = fill(lake)
    for variant in MODELS:
        if not lake.model("toy", variant).exists():
            store_variant(lake, table, variant)
    write_results(lake)
    pretend(lake, "toy", papers(3))
    for day in DAYS:
        store_archive(lake, day)
    build_warehouse(lake)
    with held(lake):
        yield lake


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A home with nothing but a warehouse, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("empty") / "it's home")
    build_warehouse(lake)
    with held(lake):
        yield lake


@pytest.fixture(scope="module")
def one_gone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A home that had three datasets: one is gone, one has the paper's counts but for one."""
    lake = Lake(tmp_path_factory.mktemp("one_gone"))
    for dataset in ("github", "gone", "mine"):
        table = store_table(lake, dataset)
        store_variant(lake, table, "ldg_learned_sparse-bilinear")
        write_parquet(baselines(table), lake.dataset(dataset) / "baselines.parquet")
    write_results(lake)
    shutil.rmtree(lake.dataset("gone"))
    pretend(lake, "mine", papers(3) | {"nodes": 285})
    build_warehouse(lake)
    with held(lake):
        yield lake


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A home with a damaged account, results of an earlier version, and models that are trained anew."""
    lake = Lake(tmp_path_factory.mktemp("troubled"))
    fill(lake)
    for day in DAYS:
        store_archive(lake, day)
    account_path(lake, date(2013, 1, 2)).write_bytes(b"PAR1, but not really")
    (lake.model("toy", "dyrep-bilinear") / "model.json").unlink()
    shutil.rmtree(lake.model("toy", "dyrep-concat"))
    write_results(lake)
    path = lake.results / "attention_auc.parquet"
    pl.read_parquet(path).drop("pairs", "picked").write_parquet(path)
    build_warehouse(lake)
    with held(lake):
        yield lake


@pytest.fixture(scope="module")
def outgrown(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home whose trainings and results are of an earlier event table; nobody changes it."""
    lake = Lake(tmp_path_factory.mktemp("outgrown"))
    fill(lake)
    store_table(lake, events=330)
    build_warehouse(lake)
    return lake


def copy_of(home: Lake, lake: Lake) -> Lake:
    """The same home in another place, to be changed."""
    shutil.copytree(home.home, lake.home)
    return lake


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_every_table_has_the_columns_types_and_comments_of_its_schema(
    full: Lake, empty: Lake, filled: bool
) -> None:
    lake = full if filled else empty
    comments = query(
        lake,
        "select table_name, comment from duckdb_tables() "
        "union all select view_name, comment from duckdb_views() where not internal",
    )
    assert dict(comments) == {name: table.description for name, table in WAREHOUSE.items()}
    described = "select table_name, column_name, data_type, comment from duckdb_columns() where not internal"
    columns = query(lake, described)
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name in FILLED)
    rows = dict(query(lake, counts))
    for name, table in WAREHOUSE.items():
        promised = [(name, column.name, column.sql_type, column.description) for column in table.columns]
        assert [column for column in columns if column[0] == name] == promised, name
        if name in FILLED:
            assert bool(rows[name]) == filled, name


def test_tables_without_rows_have_the_types_of_full_ones(full: Lake, empty: Lake) -> None:
    types = "select table_name, column_name, data_type from information_schema.columns order by all"
    assert query(empty, types) == query(full, types)


def test_result_files_have_the_columns_and_types_of_their_schema(full: Lake) -> None:
    for name, table in RESULTS.items():
        path = full.results / f"{name}.parquet"
        if name == "baselines":
            path = full.dataset("toy") / "baselines.parquet"
        if name in ("next_event_time", "calibration"):
            path = full.waiting_times("toy") / f"{name}.parquet"
        assert dict(pl.read_parquet_schema(path)) == table.stored().types, name


def test_rows_are_those_of_the_files(full: Lake) -> None:
    for table in ("link_prediction", "link_prediction_by_slot", "attention_auc", "training_curves"):
        stored = pl.read_parquet(full.results / f"{table}.parquet")
        assert query(full, f"select * exclude (stale) from {table}") == stored.rows()
    assert query(full, "select count(*) from baselines") == [(14,)]
    assert query(full, "select count(*), sum(events), sum(kept) from gharchive_files") == [(4, 6, 2)]
    assert query(full, "select actor, created_at from github_events order by created_at")[1] == (
        "ann",
        datetime(2013, 1, 2, 10),
    )
    events = pl.read_parquet(full.dataset("toy") / "events.parquet")
    assert query(full, "select * exclude (dataset) from dataset_events order by idx") == events.rows()


def test_new_archive_days_show_without_a_rebuild(full: Lake, lake: Lake) -> None:
    store_archive(copy_of(full, lake), "2013-01-03")
    assert query(lake, "select count(*) from github_events") == [(len(DAYS) + 1,)]


def test_a_home_given_as_a_relative_path_can_be_queried_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store_archive(Lake(Path("home")), "2013-01-01")
    build_warehouse(Lake(Path("home")))
    monkeypatch.chdir("/")
    assert query(Lake(tmp_path / "home"), "select count(*) from github_events") == [(1,)]


def test_a_home_that_is_moved_or_copied_reads_its_own_files(full: Lake, tmp_path: Path) -> None:
    """Where it was built there is more, which a copy does not see; nor does it when it is moved."""
    over_parquet = ("github_events", "quarantine", "rankings", "attention", "embeddings")
    copy, moved = copy_of(full, Lake(tmp_path / "copy")), Lake(tmp_path / "else [x]* where")
    for folder in (copy.github_events, copy.github_quarantine):
        shutil.rmtree(folder / f"date={DAYS[0]}")
    shutil.rmtree(copy.model("toy", "dyrep-concat"))
    shown = {}
    for home in (full, copy):
        with held(home):
            shown[home] = {view: query(home, f"select * from {view} order by all") for view in over_parquet}
    for view in over_parquet:
        assert shown[copy][view]
        assert set(map(str, shown[copy][view])) < set(map(str, shown[full][view])), view
    copy.home.rename(moved.home)
    with held(moved):
        for view in over_parquet:
            assert query(moved, f"select * from {view} order by all") == shown[copy][view], view


def test_an_attached_warehouse_reads_the_home_it_was_built_at(full: Lake) -> None:
    with duckdb.connect() as session:
        session.execute("attach ? as home (read_only)", [str(full.warehouse)])
        assert session.execute("select distinct actor from home.github_events").fetchall() == [("ann",)]


@pytest.mark.parametrize("opened", ["copy", "original", "nothing"])
def test_a_session_that_would_read_the_files_of_another_home_is_refused_until_it_names_one(
    full: Lake, lake: Lake, tmp_path: Path, opened: str
) -> None:
    """The copy has one day less than the home where its warehouse was built."""
    shutil.rmtree(copy_of(full, lake).github_events / f"date={DAYS[0]}")
    if opened == "copy":
        session = duckdb.connect(lake.warehouse, config={"temp_directory": str(tmp_path / "own")})
    else:
        session = duckdb.connect(full.warehouse if opened == "original" else ":memory:", opened == "original")
        session.execute("attach ? as attached (read_only)", [str(lake.warehouse)])
    catalog = lake.warehouse.stem if opened == "copy" else "attached"
    with session:
        for view in ("github_events", "rankings"):
            with pytest.raises(duckdb.Error, match=rf"lies in .*{lake.home}.*SET VARIABLE ldg_home = '"):
                session.execute(f"select count(*) from {catalog}.{view}")
        session.execute(f"set variable ldg_home = {sql_literal(str(lake.home))}")
        days = session.execute(f"select count(*) from {catalog}.github_events").fetchall()
        if opened != "copy":
            session.execute("detach attached")  # else it stays with everyone who has the original open
    assert days == [(len(DAYS) - 1,)]


def test_a_training_is_listed_with_what_its_folder_holds(full: Lake) -> None:
    row = query(
        full,
        "select interaction, current, seeds, chosen_epochs, stopped_seeds, parameters, seconds, "
        "settings->>'epochs', folder from trainings "
        "where variant = 'dyrep' and interaction = 'concat'",
    )
    assert row == [("concat", True, [0, 1], [2, 2], [], 12_345, 61.5, "2", "models/toy/dyrep-concat")]
    for records in ("rankings", "attention", "embeddings"):
        stored = pl.read_parquet(full.model("toy", "dyrep-concat") / f"{records}.parquet")
        shown = (
            f"select * exclude (dataset, variant, interaction) from {records} "
            "where variant = 'dyrep' and interaction = 'concat'"
        )
        assert sorted(query(full, shown)) == sorted(stored.rows()), records


def test_a_training_on_an_earlier_event_table_is_listed_and_its_files_are_not_shown(outgrown: Lake) -> None:
    with held(outgrown):
        assert query(outgrown, "select distinct current from trainings") == [(False,)]
        assert query(outgrown, "select count(*) from rankings") == [(0,)]


def test_events_stand_beside_the_names_of_their_nodes(full: Lake) -> None:
    wrong = "select count(*) from named_events join dataset_nodes on node = u and name != u_name"
    assert query(full, wrong) == [(0,)]
    assert query(full, "select count(*) from named_events") == [(300,)]
    assert query(full, "select distinct v_name from named_events where v = 1") == [("bob",)]


def test_a_deleted_dataset_leaves_no_ghosts(one_gone: Lake) -> None:
    stored = pl.read_parquet(one_gone.results / "link_prediction.parquet").filter(dataset="gone")
    assert stored.height
    for table in sorted(table for table in FILLED if "dataset" in WAREHOUSE[table].names):
        shown = query(one_gone, f"select distinct dataset from {table} order by all")
        assert shown == [("github",), ("mine",)], table
    left_out = query(one_gone, "select rows, reason from left_out where table_name = 'link_prediction'")
    assert left_out == [(stored.height, "the dataset is gone")]


def test_a_renamed_dataset_takes_its_events_and_baselines_along_and_nothing_stays(lake: Lake) -> None:
    fill(lake)
    lake.dataset("toy").rename(lake.dataset("after"))
    build_warehouse(lake)
    with held(lake):
        for table in ("dataset_events", "dataset_stats", "baselines", "table_2"):
            assert query(lake, f"select distinct dataset from {table}") == [("after",)]
        assert query(lake, "select count(*) from link_prediction") == [(0,)]


def test_results_of_an_earlier_event_table_are_shown_with_their_date_until_newer_ones_are_there(
    outgrown: Lake, lake: Lake
) -> None:
    copy_of(outgrown, lake)
    longer = read_event_table(lake.dataset("toy"))
    (earlier,) = pl.read_parquet(lake.results / "link_prediction.parquet")["as_of"].unique()
    assert earlier < longer.as_of
    states = "select distinct variant, interaction, as_of, stale from link_prediction order by all"

    def all_is_of_the_earlier(home: Lake) -> None:
        with held(home):
            assert {row[2:] for row in query(home, states)} == {(earlier, True)}
            assert query(home, "select distinct as_of, stale from baselines") == [(earlier, True)]
            assert query(home, "select count(*) from left_out") == [(0,)]

    all_is_of_the_earlier(outgrown)
    write_results(lake)  # anew, of the same trainings
    build_warehouse(lake)
    all_is_of_the_earlier(lake)

    store_variant(lake, longer, "dyrep-bilinear")
    write_results(lake)
    build_warehouse(lake)
    with held(lake):
        (newer, *older) = query(lake, states)
        assert newer == ("dyrep", "bilinear", longer.as_of, False)
        assert {row[2:] for row in older} == {(earlier, True)}
        unknown = "select distinct stale, beats_baselines is null from leaderboard where learns order by all"
        assert query(lake, unknown) == [
            (False, True),
            (True, False),
        ]  # the baselines are of the earlier table


def test_results_of_two_earlier_event_tables_are_not_held_against_each_other(outgrown: Lake) -> None:
    """Both are stale, and their newest events are of the same moment."""
    of_another = "update baselines set fingerprint = 'another'"
    learned = "select distinct stale, beats_baselines from leaderboard where learns"
    assert query_after(outgrown, of_another, learned) == [(True, None)]


def test_a_model_that_is_being_trained_anew_keeps_its_last_results(troubled: Lake) -> None:
    models = "select distinct variant, interaction, stale from link_prediction order by all"
    assert query(troubled, models) == [
        ("dyrep", "bilinear", False),
        ("ldg_learned_sparse", "bilinear", False),
    ]


def test_an_account_that_cannot_be_read_is_left_out_and_the_rest_is_shown(troubled: Lake) -> None:
    assert query(troubled, "select distinct day::varchar from gharchive_files") == [("2013-01-01",)]
    of_accounts = "select rows, reason from left_out where table_name = 'gharchive_files'"
    ((rows, reason),) = query(troubled, of_accounts)
    assert rows is None
    assert reason == (
        "github/date=2013-01-02.parquet cannot be read: materialize github_events of its day again"
    )
    assert failed_hours(troubled) == [reason]


def test_results_of_an_earlier_version_are_left_out_and_told(troubled: Lake) -> None:
    many = pl.read_parquet(troubled.results / "attention_auc.parquet").height
    assert query(troubled, "select count(*) from attention_auc") == [(0,)]
    reason = "made by an earlier version, without pairs, picked: materialize it again"
    of_results = "from left_out where table_name != 'gharchive_files'"
    assert query(troubled, of_results) == [("attention_auc", "toy", many, reason)]
    assert query(troubled, "select count(*) > 0 from link_prediction") == [(True,)]


def test_a_half_replaced_event_table_leaves_the_old_warehouse(full: Lake, lake: Lake) -> None:
    before = copy_of(full, lake).warehouse.read_bytes()
    (lake.dataset("toy") / "nodes.parquet").write_bytes(b"half")
    with pytest.raises(ValueError, match="half replaced"):
        build_warehouse(lake)
    assert lake.warehouse.read_bytes() == before
    assert [path.name for path in lake.home.iterdir() if "warehouse" in path.name] == ["warehouse.duckdb"]


READER = """
import sys, duckdb
path, stop, tables = sys.argv[1], sys.argv[2], sys.argv[3].split()
import pathlib
rounds = 0
while not pathlib.Path(stop).exists() or rounds == 0:
    with duckdb.connect(path, read_only=True) as warehouse:
        for table in tables:
            warehouse.execute(f"select * from {table}").fetchall()
    rounds += 1
print(rounds)
"""


@pytest.mark.slow
def test_a_reader_never_sees_an_error_or_a_missing_table_while_it_is_rebuilt(
    lake: Lake, tmp_path: Path
) -> None:
    fill(lake)
    store_archive(lake, "2013-01-01")
    build_warehouse(lake)
    stop = tmp_path / "stop"
    # One reader in its own process, as the duckdb program is, and one in this process.
    command = [sys.executable, "-c", READER, str(lake.warehouse), str(stop), " ".join(WAREHOUSE)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors: list[Exception] = []

    def read() -> None:
        while not stop.exists():
            try:
                for table in WAREHOUSE:
                    query(lake, f"from {table}")
            except duckdb.Error as error:
                errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for _ in range(3):
            build_warehouse(lake)
    finally:
        stop.touch()
        thread.join()
        out, err = reader.communicate()
    assert errors == []
    assert err == ""
    assert reader.returncode == 0
    assert int(out) > 0


def test_a_rebuild_while_a_reader_holds_the_old_one_shows_at_its_next_connection(
    empty: Lake, lake: Lake
) -> None:
    copy_of(empty, lake)
    reader = duckdb.connect(str(lake.warehouse), read_only=True)
    store_table(lake)
    build_warehouse(lake)
    assert reader.execute("select count(*) from dataset_events").fetchall() == [(0,)]
    reader.close()
    assert query(lake, "select count(*) from dataset_events") == [(300,)]


def test_what_a_killed_build_and_an_interrupted_session_of_a_user_left_does_not_outlive_a_rebuild(
    empty: Lake, lake: Lake
) -> None:
    copy_of(empty, lake)
    store_table(lake)
    for pid in (1, os.getpid()):
        left = lake.home / f".warehouse.duckdb.{pid}.tmp"
        shutil.copy(lake.warehouse, left)
        left.with_name(left.name + ".wal").write_bytes(b"half")
    script = (
        "import duckdb, os, signal, sys; warehouse = duckdb.connect(sys.argv[1]);"
        "warehouse.execute('create table mine as select 1'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(lake.warehouse)], check=False)
    assert Path(f"{lake.warehouse}.wal").exists()
    build_warehouse(lake)
    assert query(lake, "select count(*) from dataset_events") == [(300,)]


SMALL_DISK = """
import resource, sys
from pathlib import Path
from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
lake = Lake(Path(sys.argv[1]))
most = lake.warehouse.stat().st_size // 2
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    build_warehouse(lake)
except OSError as error:
    print(error)
"""


def test_a_disk_without_room_for_a_new_warehouse_leaves_the_old_one_and_is_told(
    full: Lake, lake: Lake
) -> None:
    """A limit on the size of files fails as a full disk does."""
    before = copy_of(full, lake).warehouse.read_bytes()
    command = [sys.executable, "-c", SMALL_DISK, str(lake.home)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert lake.warehouse.read_bytes() == before
    assert told.startswith(f"{lake.warehouse} could not be rebuilt, and stays as it was")
    assert list(lake.home.glob(".warehouse*")) == []


# --- the paper's tables


def pretend(lake: Lake, dataset: str, statistics: dict[str, int]) -> None:
    """Give a dataset the statistics of one of the paper's."""
    path = lake.dataset(dataset) / "dataset.json"
    metadata = pl.read_json(path).to_dicts()[0]
    metadata["stats"] |= statistics
    write_json(metadata, path)


def papers(column: int) -> dict[str, int]:
    return {row[0]: int(row[column]) for row in published.TABLE_2}


def test_the_papers_data_are_recognized_by_their_counts_not_their_name(one_gone: Lake) -> None:
    assert query(one_gone, "from published_datasets") == [("mine", "GitHub")]
    rows = query(one_gone, "select statistic, value, published, agrees from table_2 where dataset = 'mine'")
    assert rows[0] == ("# nodes", 285, 284, False)
    assert rows[3] == ("# train comm events", 10_604, 10_604, True)
    counts = "select count(published), count(agrees) from table_2 where dataset = 'github'"
    assert query(one_gone, counts) == [(0, 0)]
    printed = "select dataset, count(mar_bilinear_published) from table_3 group by dataset order by dataset"
    assert query(one_gone, printed) == [("github", 0), ("mine", 1)]


def test_table_3_has_mean_and_std_over_seeds_beside_the_published_ones(full: Lake) -> None:
    test = pl.read_parquet(full.results / "link_prediction.parquet").filter(
        pl.col("variant") == "ldg_learned_sparse", pl.col("split") == "test"
    )
    mean, std = test["mar"].mean(), test["mar"].std()
    row = query(
        full,
        "select model, learned_attention, mar_concat, mar_bilinear, mar_bilinear_mean, mar_bilinear_std, "
        "mar_bilinear_published, mar_bilinear_reached, hits_at_10_bilinear_published, seeds_bilinear "
        "from table_3 where variant = 'ldg_learned_sparse'",
    )[0]
    assert row[:4] == ("LDG (learned, sparse)", True, None, f"{mean:.1f} ± {std:.1f}")
    assert row[4:6] == pytest.approx((mean, std))
    assert row[6:] == ("67.3 ± 3.5", True, "0.28 ± 0.03", 2)
    assert query(full, "select model, mar_concat_published from table_3 where variant = 'dyrep'") == [
        ("DyRep (Follow)", "100.3 ± 10.0")
    ]


@pytest.fixture(scope="module")
def papers_model(full: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A warehouse of the paper's dataset and its models; what changes it takes that back."""
    lake = copy_of(full, Lake(tmp_path_factory.mktemp("paper") / "home"))
    with held(lake, read_only=False):
        yield lake


@pytest.mark.parametrize(
    ("auc", "printed", "reached"),
    [
        (0.86, "86 ± 0", True),
        (0.81, "81 ± 0", True),  # five points below the published 86
        (0.8099, "80.99 ± 0.00", False),  # 81 would hide that it is below
        (0.809996, "80.9996 ± 0.0000", False),
        (0.8001, "80 ± 0", False),
    ],
)
def test_an_auc_is_reached_five_points_below_and_printed_with_the_digit_that_decides(
    papers_model: Lake, auc: float, printed: str, reached: bool
) -> None:
    row = query_after(
        papers_model,
        f"update attention_auc set auc = {auc}",
        "select final_sparse, final_sparse_reached, final_sparse_bound from table_4 "
        "where relation = 'Follow'",
    )
    assert row == [(printed, reached, 81)]


BEST = "variant = 'ldg_learned_sparse'"


def set_metrics(mar: float, hits: float) -> str:
    """Give every seed these metrics."""
    return f"update link_prediction set mar = {mar}, hits_at_10 = {hits}"


@pytest.mark.parametrize(
    ("mar", "hits", "printed"),
    [
        (70.8, 0.25, ("70.8 ± 0.0", "0.25 ± 0.00")),
        (70.84, 0.2496, ("70.84 ± 0.00", "0.2496 ± 0.0000")),
        (70.79, 0.2504, ("70.8 ± 0.0", "0.25 ± 0.00")),
    ],
)
def test_a_cell_shows_on_which_side_of_its_bound_it_is(
    papers_model: Lake, mar: float, hits: float, printed: tuple[str, str]
) -> None:
    cells = f"select mar_bilinear, hits_at_10_bilinear from table_3 where {BEST}"
    assert query_after(papers_model, set_metrics(mar, hits), cells) == [printed]


def test_an_interaction_beyond_the_papers_has_its_own_cells_and_line(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variant_names, "INTERACTIONS", (*variant_names.INTERACTIONS, "branching"))
    store_variant(lake, fill(lake), "brand_new-branching")
    write_link_prediction(lake)
    build_warehouse(lake)
    with held(lake):
        rows = query(lake, "select variant, interaction, mar_concat, mar_bilinear from table_3")
        assert [row[:2] for row in rows] == [
            ("dyrep", None),
            ("ldg_learned_sparse", None),
            ("brand_new", "branching"),
        ]
        cells = query(lake, "select variant, interaction, printed from table_3_cells where metric = 'mar'")
        assert {row[:2] for row in cells} == {
            ("dyrep", "concat"),
            ("dyrep", "bilinear"),
            ("ldg_learned_sparse", "bilinear"),
            ("brand_new", "branching"),
        }
        (beyond,) = (row[2] for row in cells if row[0] == "brand_new")
        shown = terminal_text(lake)
    assert rows[-1][2:] == (beyond, beyond)
    for predictor in ("brand_new, branching", "online recency"):
        (line,) = (line for line in shown.splitlines() if predictor in line)
        mar_concat, mar_bilinear, hits_concat, hits_bilinear = map(str.strip, line.split("│")[3:-1])
        assert mar_concat == mar_bilinear != "", "the value stands in both columns"
        assert hits_concat == hits_bilinear != ""


@pytest.mark.parametrize(("mar", "hits", "reached"), [(70.8, 0.25, True), (70.9, 0.24, False)])
def test_reached_is_within_one_published_std_or_better(
    papers_model: Lake, mar: float, hits: float, reached: bool
) -> None:
    flags = f"select mar_bilinear_reached, hits_at_10_bilinear_reached from table_3 where {BEST}"
    assert query_after(papers_model, set_metrics(mar, hits), flags) == [(reached, reached)]


@pytest.mark.parametrize(
    ("knows", "best", "sentence"),
    [
        ("false", 2.0, "The best learned model (MAR 2.0) beats"),
        ("true", 2.0, "No learned model beats"),
        ("variant = 'brand_new'", 1.5, "The best learned model (MAR 2.0) beats"),  # the others are ahead
    ],
)
def test_the_verdict_holds_a_model_against_what_knows_no_more_as_the_leaderboard_does(
    papers_model: Lake, knows: str, best: float, sentence: str
) -> None:
    change = (
        f"update link_prediction set by_role = {knows}, mar = if(variant = 'brand_new', {best}, 2.0); "
        "update baselines set mar = if(by_role, 1.0, 3.0)"
    )
    with changed(papers_model, change) as warehouse:
        assert table_3_verdict(warehouse, "toy").startswith(sentence)
        lost = "select not bool_or(beats_baselines) from leaderboard where learns"
        assert warehouse.execute(lost).fetchall() == [(sentence.startswith("No"),)]


@pytest.mark.parametrize(
    ("mar", "begins", "ends"),
    [
        (0.0593, "The best model (MAR 0.06) beats", "no more, recency by role then popularity (MAR 0.08)."),
        (0.0844, "No model beats", "recency by role then popularity has MAR 0.0842, the best model 0.0844."),
        (0.0842, "No model beats", "recency by role then popularity has MAR 0.1, the best model 0.1."),
    ],
)
def test_a_verdict_has_the_digits_that_decide_it(mar: float, begins: str, ends: str) -> None:
    counted = {"baseline": "recency_by_role_then_popularity", "relation": None, "mar": 0.0842}
    verdict = best_against_counting("model", mar, counted)
    assert verdict.startswith(begins)
    assert verdict.endswith(ends)


@pytest.mark.parametrize("values", [(NAN, 2.0, None, 1.0), (1.0, NAN, 2.0)])
def test_the_best_value_is_a_number_wherever_none_stands(values: tuple[float | None, ...]) -> None:
    assert (best_of(True, values), best_of(False, values)) == (1.0, 2.0)
    assert best_of(True, (NAN, None)) is None


def test_a_baseline_has_one_name_in_the_leaderboard_and_in_print(full: Lake) -> None:
    stored = query(full, "select baseline, relation from baselines")
    shown = query(full, "select predictor from leaderboard where not learns")
    assert {baseline_label(*row) for row in stored} == {predictor for (predictor,) in shown}


def test_a_relation_that_is_not_the_datasets_own_names_its_dyrep(full: Lake) -> None:
    assert query(full, "select model from table_3 where model not like 'LDG%'") == [
        ("DyRep (Follow)",),
        ("DyRep (Friend)",),
        ("brand_new",),
    ]


def test_table_4_has_the_picked_edge_type_beside_published_and_frequency(full: Lake) -> None:
    auc = pl.read_parquet(full.results / "attention_auc.parquet").filter(
        pl.col("relation") == "Follow", pl.col("snapshot") == "final", pl.col("attention") == "final"
    )
    sparse = auc.filter(pl.col("variant") == "ldg_learned_sparse", "picked")["auc"] * 100
    frequency = auc.filter(pl.col("variant") == "frequency")["auc"].item() * 100
    assert query(
        full,
        "select relation, interaction, final_sparse, final_sparse_published, initial_uniform_published, "
        "seeds from table_4 where relation = 'Follow'",
    ) == [("Follow", "bilinear", f"{sparse.mean():.0f} ± {sparse.std():.0f}", 86, 79, 2)]
    numbers = query(full, "select final_sparse_mean, final_frequency from table_4 where relation = 'Follow'")
    assert numbers[0] == pytest.approx((sparse.mean(), frequency))
    assert query(full, "select count(*), count(final_sparse_published) from table_4") == [(2, 1)]


def test_one_seed_has_no_std(papers_model: Lake) -> None:
    one_seed = "delete from link_prediction where seed > 0"
    cells = f"select mar_bilinear, mar_bilinear_std from table_3 where {BEST}"
    ((printed, std),) = query_after(papers_model, one_seed, cells)
    assert re.fullmatch(r"\d+\.\d", printed)
    assert std is None


def test_published_tables_are_complete() -> None:
    assert published.published_table_2().height == 14
    assert published.published_table_3().height == 12
    assert published.published_table_4().height == 6
    assert not published.published_table_3().null_count().sum_horizontal().item()


def test_statistics_of_the_lake_are_those_of_its_event_tables(lake: Lake) -> None:
    table = store_table(lake)
    stats = dataset_stats(lake).row(0, named=True)
    assert {name: stats[name] for name in table.metadata["stats"]} == table.metadata["stats"]
    assert stats["fingerprint"] == table.metadata["fingerprint"]
    assert stats["test_start"] == datetime.fromisoformat(table.metadata["split"]["test_start"])


def test_social_evolution_is_recognized_as_the_papers(real_data: Path, lake: Lake) -> None:
    source = str(real_data / "social_evolution" / "SocialEvolution.zip")
    files = fetch_social_evolution(source, lake, terms_accepted=True)
    write_event_table(social_evolution_table(files, SocialEvolutionRules()), lake.dataset("people"))
    build_warehouse(lake)
    differing = query(lake, "select statistic, value, published from table_2 where agrees is not true")
    assert differing == [("# nodes", 84, 83)]


def terminal_text(lake: Lake) -> str:
    console = Console(record=True, width=160, file=io.StringIO())
    print_tables(lake, console)
    return console.export_text()


def test_the_terminal_shows_the_papers_tables_and_the_baselines(full: Lake) -> None:
    shown = terminal_text(full)
    for text in ("Table 2", "Table 3", "Table 4", "67.3 ± 3.5", "online recency", "10,604"):
        assert text in shown


def test_the_terminal_shows_an_empty_warehouse_without_complaint(empty: Lake) -> None:
    print_tables(empty, Console(file=io.StringIO()))


@pytest.mark.parametrize("document", ["README.md", "docs/results-tables.md", "docs/questions.md"])
def test_the_queries_of_the_documentation_run(full: Lake, document: str) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    queries = [sql for block in blocks for sql in block.split(";") if sql.strip()]
    assert queries
    for sql in queries:
        assert query(full, sql), sql
