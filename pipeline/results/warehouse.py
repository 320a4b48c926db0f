"""The warehouse: one DuckDB file for queries, rebuilt from Parquet and replaced atomically."""

from pathlib import Path

import duckdb
import polars as pl

from pipeline.event_table import dataset_names, read_event_table
from pipeline.following.record import track_record
from pipeline.lake import Lake, read_parquet, replacing
from pipeline.results import published
from pipeline.results.dataset_stats import dataset_stats
from pipeline.results.home_views import add_archive_views, add_training_views, create_home_macros
from pipeline.results.predictions import predictions
from pipeline.results.stored import missing_columns, result_rows
from pipeline.results.tables import create, create_macros, create_view, insert
from pipeline.results.trainings import trainings
from pipeline.schemas import (
    DATASET_ASSOCIATIONS,
    DATASET_EVENTS,
    DATASET_NODES,
    DATASET_STATS,
    GHARCHIVE_FILES,
    LEFT_OUT,
    METRICS_TABLE,
    NAMED_PREDICTIONS,
    PUBLISHED_CELLS,
    PUBLISHED_MODELS,
    PUBLISHED_TABLE_2,
    PUBLISHED_TABLE_3,
    PUBLISHED_TABLE_4,
    RESULTS,
    SUBNETWORK,
    TRACK_RECORD_VIEWS,
    TRAININGS,
    VIEWS,
)
from pipeline.sources.gharchive.account import read_account, unreadable

ROWS_OF_TABLES = "select table_name, estimated_size from duckdb_tables() order by all"


def build_warehouse(lake: Lake) -> Path:
    """Build `warehouse.duckdb` from the lake's Parquet, replace the old file atomically, and return its path.

    Readers of the old file keep it until they reconnect. A half-replaced event table raises an error, and the
    old warehouse stays. Results of an earlier event table are marked stale until newer ones exist. Rows of
    deleted datasets are excluded and counted in `left_out`, which also lists unreadable ledgers of days.
    """
    with replacing(lake.warehouse) as temporary:
        # A killed process with the same PID may have left a partial file.
        temporary.unlink(missing_ok=True)
        write_ahead(temporary).unlink(missing_ok=True)
        try:
            write_database(temporary, lake)
        except (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException) as error:
            raise OSError(
                f"{lake.warehouse} could not be rebuilt, and stays as it was: {error}. If its disk is full, "
                "free at least twice the size of the file, and run `ldg run` again"
            ) from error
        finally:
            write_ahead(temporary).unlink(missing_ok=True)
        # An interrupted session's log of the old file does not fit the new one: DuckDB would refuse it.
        write_ahead(lake.warehouse).unlink(missing_ok=True)
    return lake.warehouse


def write_database(path: Path, lake: Lake) -> None:
    """Write all tables and views to a new database file; raise a DuckDB error unless all rows are on disk."""
    with duckdb.connect(str(path)) as warehouse:
        warehouse.begin()
        create(warehouse, LEFT_OUT)
        create_home_macros(warehouse, lake)
        add_archive(warehouse, lake)
        add_datasets(warehouse, lake)
        add_trainings(warehouse, lake)
        add_results(warehouse, lake)
        add_track_record(warehouse, lake)
        add_printed_tables(warehouse, lake)
        warehouse.commit()
        # Closing checkpoints as well, but a failure is silent and leaves all rows in the write-ahead log.
        warehouse.execute("checkpoint")
        written = warehouse.execute(ROWS_OF_TABLES).fetchall()
    with duckdb.connect(str(path), read_only=True) as warehouse:
        stored = warehouse.execute(ROWS_OF_TABLES).fetchall()
    if stored != written or write_ahead(path).exists():
        raise duckdb.IOException(f"{len(stored)} of {len(written)} tables were stored whole")


def write_ahead(database: Path) -> Path:
    """Return the path of the database's write-ahead log."""
    return database.with_name(f"{database.name}.wal")


def add_archive(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add `gharchive_files`, `subnetwork`, and the views over the archive's events."""
    create(warehouse, GHARCHIVE_FILES)
    accounts = {path: read_account(path) for path in sorted(lake.github_accounts.glob("*.parquet"))}
    hours = [account.select(GHARCHIVE_FILES.names) for account in accounts.values() if account is not None]
    if hours:
        insert(warehouse, GHARCHIVE_FILES, pl.concat(hours, how="vertical_relaxed"))
    for path in (path for path, account in accounts.items() if account is None):
        ghost = {"table_name": GHARCHIVE_FILES.name, "reason": unreadable(path)}
        insert(warehouse, LEFT_OUT, pl.DataFrame([ghost], schema=LEFT_OUT.types))
    create(warehouse, SUBNETWORK)
    members = lake.github_subnetwork / "accounts.parquet"
    if members.exists():
        insert(warehouse, SUBNETWORK, read_parquet(members))
    add_archive_views(warehouse, lake)


def add_datasets(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add the event tables and statistics of all datasets."""
    for table in (DATASET_EVENTS, DATASET_NODES, DATASET_ASSOCIATIONS, DATASET_STATS):
        create(warehouse, table)
    insert(warehouse, DATASET_STATS, dataset_stats(lake))
    for dataset in dataset_names(lake):
        events = read_event_table(lake.dataset(dataset))
        for table, rows in (
            (DATASET_EVENTS, events.events),
            (DATASET_NODES, events.nodes),
            (DATASET_ASSOCIATIONS, events.associations),
        ):
            insert(warehouse, table, rows.with_columns(dataset=pl.lit(dataset)))


def add_trainings(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add `trainings`, their `predictions`, and the views over the tables that each training stores."""
    for table, rows in ((TRAININGS, trainings(lake)), (NAMED_PREDICTIONS, predictions(lake))):
        create(warehouse, table)
        insert(warehouse, table, rows)
    add_training_views(warehouse, lake)


def add_results(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add the last finished results of every dataset; rows that cannot be shown are counted in `left_out`."""
    present = dataset_stats(lake).select("dataset", present="fingerprint")
    is_stale = pl.col("present") != pl.col("fingerprint")
    for table in RESULTS.values():
        create(warehouse, table)
        for stored in result_rows(lake, table.name):
            rows = stored.join(present, on="dataset", how="left", maintain_order="left").with_columns(
                reason=why_left_out(missing_columns(stored, table)), stale=is_stale
            )
            shown, ghosts = (
                rows.filter(pl.col("reason").is_null()),
                rows.filter(pl.col("reason").is_not_null()),
            )
            if shown.height:
                insert(warehouse, table, shown)
            counts = ghosts.group_by("dataset", "reason", maintain_order=True).len("rows")
            insert(warehouse, LEFT_OUT, counts.with_columns(table_name=pl.lit(table.name)))


def add_track_record(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add the forecasts for a followed archive and their scores."""
    for table, parts in track_record(lake):
        create(warehouse, table)
        for rows in parts:
            insert(warehouse, table, rows)


def why_left_out(missing: set[str]) -> pl.Expr:
    """Return an expression for the reason to exclude a row, or null; `missing` are columns its file lacks."""
    if missing:
        return pl.lit(
            f"made by an earlier version, without {', '.join(sorted(missing))}: materialize it again"
        )
    return pl.when(pl.col("present").is_null()).then(pl.lit("the dataset is gone"))


def add_printed_tables(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add the paper's published tables and all views, such as our Tables 2, 3 and 4 beside them."""
    relations = dict(dataset_stats(lake).select("dataset", "relations").iter_rows())
    for table, rows in (
        (METRICS_TABLE, published.printed_metrics()),
        (PUBLISHED_TABLE_2, published.published_table_2()),
        (PUBLISHED_TABLE_3, published.published_table_3()),
        (PUBLISHED_CELLS, published.cells()),
        (PUBLISHED_TABLE_4, published.published_table_4()),
        (PUBLISHED_MODELS, published.models(relations)),
    ):
        create(warehouse, table)
        insert(warehouse, table, rows)
    create_macros(warehouse)
    for view in (*VIEWS.values(), *TRACK_RECORD_VIEWS.values()):
        create_view(warehouse, view)


def existing_warehouse(warehouse: Path) -> Path:
    """Return the warehouse's path; raise FileNotFoundError with the remedy if it does not exist."""
    if not warehouse.exists():
        raise FileNotFoundError(f"{warehouse} is not there: `ldg run` makes it")
    return warehouse
