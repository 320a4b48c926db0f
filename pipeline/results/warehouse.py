"""The warehouse: one DuckDB file, built anew from Parquet and put in place whole, as a window for queries."""

import glob
import json
from importlib.resources import files
from pathlib import Path

import duckdb
import polars as pl

from pipeline.event_table import dataset_names, read_event_table
from pipeline.lake import Lake, read_parquet, replacing
from pipeline.results import published
from pipeline.results.stored import result_rows, write_results
from pipeline.schemas import (
    DATASET_ASSOCIATIONS,
    DATASET_EVENTS,
    DATASET_NODES,
    DATASET_STATS,
    GHARCHIVE_FILES,
    GITHUB_EVENTS,
    LEFT_OUT,
    METRICS_TABLE,
    PUBLISHED_CELLS,
    PUBLISHED_MODELS,
    PUBLISHED_TABLE_2,
    PUBLISHED_TABLE_3,
    PUBLISHED_TABLE_4,
    RESULTS,
    TIME,
    VIEWS,
    Table,
)


def build_warehouse(lake: Lake) -> Path:
    """Build `warehouse.duckdb` from the lake's Parquet and put it in the old one's place; return its path.

    Readers of the old file keep it until they reconnect. An event table that is half replaced is refused, and
    then the old warehouse stays. Result rows of datasets that are gone, or made from an earlier event table,
    are left out and counted in the table `left_out`.
    """
    with replacing(lake.warehouse) as temporary:
        # A killed process of the same number may have left one half built.
        temporary.unlink(missing_ok=True)
        write_ahead(temporary).unlink(missing_ok=True)
        with duckdb.connect(str(temporary)) as warehouse:
            warehouse.begin()
            add_archive(warehouse, lake)
            add_datasets(warehouse, lake)
            add_results(warehouse, lake)
            add_printed_tables(warehouse, lake)
            warehouse.commit()
        # What someone's interrupted session wrote into the old file does not fit the new one, and DuckDB
        # would refuse to open it.
        write_ahead(lake.warehouse).unlink(missing_ok=True)
    return lake.warehouse


def write_ahead(database: Path) -> Path:
    """The log DuckDB keeps beside a database while it is written to."""
    return database.with_name(f"{database.name}.wal")


def create(warehouse: duckdb.DuckDBPyConnection, table: Table) -> None:
    """An empty table, with a comment on it and on each of its columns."""
    listed = ", ".join(f'"{column.name}" {column.sql_type}' for column in table.columns)
    warehouse.execute(f'create table "{table.name}" ({listed})')
    comment(warehouse, table, "table")


def comment(warehouse: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    """Say in the warehouse what a table or view and each of its columns mean."""
    comments = [f'comment on {kind} "{table.name}" is {literal(table.description)}']
    comments += [
        f'comment on column "{table.name}"."{column.name}" is {literal(column.description)}'
        for column in table.columns
    ]
    warehouse.execute(";".join(comments))


def insert(warehouse: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    """Add the rows of a frame, column by name."""
    warehouse.register("rows_to_insert", rows.select(table.names).to_arrow())
    listed = ", ".join(f'"{column}"' for column in table.names)
    warehouse.execute(f'insert into "{table.name}" ({listed}) select {listed} from rows_to_insert')  # noqa: S608 - own names
    warehouse.unregister("rows_to_insert")


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def dataset_stats(lake: Lake) -> pl.DataFrame:
    """The table `dataset_stats`: one row per dataset of the lake."""
    rows = []
    for dataset in dataset_names(lake):
        metadata = json.loads((lake.dataset(dataset) / "dataset.json").read_text(encoding="utf-8"))
        everything = {**metadata, **metadata["split"], **metadata["stats"], "dataset": dataset}
        rows.append({column: everything[column] for column in DATASET_STATS.names})
    # JSON has times as text.
    times = [column.name for column in DATASET_STATS.columns if column.dtype == TIME]
    frame = pl.DataFrame(rows, schema={**DATASET_STATS.types, **dict.fromkeys(times, pl.String)})
    return frame.with_columns(pl.col(*times).str.to_datetime(time_unit="us"))


def write_dataset_stats(lake: Lake) -> dict[str, int]:
    """Write `results/dataset_stats.parquet` and return its row count by its name."""
    return write_results(lake, {DATASET_STATS.name: dataset_stats(lake)})


def add_archive(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """`gharchive_files`, and `github_events` as a view over Parquet: too large to copy."""
    create(warehouse, GHARCHIVE_FILES)
    accounts = [
        read_parquet(path).select(GHARCHIVE_FILES.names)
        for path in sorted(lake.github_accounts.glob("*.parquet"))
    ]
    if accounts:
        insert(warehouse, GHARCHIVE_FILES, pl.concat(accounts, how="vertical_relaxed"))
    if next(lake.github_events.glob("*/*.parquet"), None) is None:
        create(warehouse, GITHUB_EVENTS)
        return
    # A view stores the path as text, so it must not depend on a reader's working directory.
    paths = glob.escape(str(lake.github_events.resolve())) + "/*/*.parquet"
    listed = ", ".join(
        f'"{column.name}"::{column.sql_type} as "{column.name}"' for column in GITHUB_EVENTS.columns
    )
    warehouse.execute(f"create view github_events as select {listed} from read_parquet({literal(paths)})")  # noqa: S608 - own names
    comment(warehouse, GITHUB_EVENTS, "view")


def add_datasets(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The event tables of all datasets."""
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


def add_results(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The result tables of present event tables; rows of others are counted in `left_out`."""
    create(warehouse, LEFT_OUT)
    present = dataset_stats(lake).select("dataset", present="fingerprint")
    for table in RESULTS.values():
        create(warehouse, table)
        for stored in result_rows(lake, table.name):
            rows = stored.join(present, on="dataset", how="left", maintain_order="left").with_columns(
                reason=why_left_out(set(table.names) - set(stored.columns))
            )
            shown, ghosts = (
                rows.filter(pl.col("reason").is_null()),
                rows.filter(pl.col("reason").is_not_null()),
            )
            if shown.height:
                insert(warehouse, table, shown)
            counts = ghosts.group_by("dataset", "reason", maintain_order=True).len("rows")
            insert(warehouse, LEFT_OUT, counts.with_columns(table_name=pl.lit(table.name)))


def why_left_out(missing: set[str]) -> pl.Expr:
    """Why a row does not belong in the warehouse, or null; `missing` are columns its file should have."""
    if missing:
        return pl.lit(
            f"made by an earlier version, without {', '.join(sorted(missing))}: materialize it again"
        )
    return (
        pl.when(pl.col("present").is_null())
        .then(pl.lit("the dataset is gone"))
        .when(pl.col("present") != pl.col("fingerprint"))
        .then(pl.lit("made from an earlier event table: materialize it again"))
    )


def add_printed_tables(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The paper's Tables 2, 3 and 4 as views, with what the paper prints beside ours."""
    relations = dict(dataset_stats(lake).select("dataset", "relations").iter_rows())
    for table, rows in (
        (METRICS_TABLE, published.metrics()),
        (PUBLISHED_TABLE_2, published.table_2()),
        (PUBLISHED_TABLE_3, published.table_3()),
        (PUBLISHED_CELLS, published.cells()),
        (PUBLISHED_TABLE_4, published.table_4()),
        (PUBLISHED_MODELS, published.models(relations)),
    ):
        create(warehouse, table)
        insert(warehouse, table, rows)
    folder = files("pipeline.results") / "views"
    warehouse.execute((folder / "macros.sql").read_text(encoding="utf-8"))
    for name, view in VIEWS.items():
        warehouse.execute((folder / f"{name}.sql").read_text(encoding="utf-8"))
        comment(warehouse, view, "view")
