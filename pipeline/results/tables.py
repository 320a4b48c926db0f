"""Creation of the warehouse's tables and views from their schemas, with comments, and inserts of frames."""

from importlib.resources import files

import duckdb
import polars as pl

from pipeline.schemas import Table


def create(warehouse: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create an empty table, with comments on it and on each column."""
    listed = ", ".join(f'"{column.name}" {column.sql_type}' for column in table.columns)
    warehouse.execute(f'create table "{table.name}" ({listed})')
    comment(warehouse, table, "table")


def create_view(warehouse: duckdb.DuckDBPyConnection, view: Table) -> None:
    """Create a view from its SQL file, with comments on it and on each column."""
    text = (files("pipeline.results") / "views" / f"{view.name}.sql").read_text(encoding="utf-8")
    warehouse.execute(text)
    comment(warehouse, view, "view")


def create_macros(database: duckdb.DuckDBPyConnection) -> None:
    """Create the macros that format a cell and compare it with its bound, for views and SQL users."""
    text = (files("pipeline.results") / "views" / "macros.sql").read_text(encoding="utf-8")
    database.execute(text)


def comment(warehouse: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    """Write the descriptions of a table or view and of its columns as comments."""
    comments = [f'comment on {kind} "{table.name}" is {sql_literal(table.description)}']
    comments += [
        f'comment on column "{table.name}"."{column.name}" is {sql_literal(column.description)}'
        for column in table.columns
    ]
    warehouse.execute(";".join(comments))


def insert(warehouse: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    """Insert the rows of a frame by column name; an empty frame does nothing."""
    chosen = rows.select(table.names)
    if chosen.is_empty():
        return
    warehouse.register("rows_to_insert", chosen.to_arrow())
    listed = ", ".join(f'"{column}"' for column in table.names)
    warehouse.execute(f'insert into "{table.name}" ({listed}) select {listed} from rows_to_insert')  # noqa: S608 - own names
    warehouse.unregister("rows_to_insert")


def sql_literal(text: str) -> str:
    """Quote `text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
