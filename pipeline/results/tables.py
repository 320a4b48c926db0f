"""Tables and views of the warehouse as their schemas say: created with comments, filled from frames."""

from importlib.resources import files

import duckdb
import polars as pl

from pipeline.schemas import Table


def create(warehouse: duckdb.DuckDBPyConnection, table: Table) -> None:
    """An empty table, with a comment on it and on each of its columns."""
    listed = ", ".join(f'"{column.name}" {column.sql_type}' for column in table.columns)
    warehouse.execute(f'create table "{table.name}" ({listed})')
    comment(warehouse, table, "table")


def create_view(warehouse: duckdb.DuckDBPyConnection, view: Table) -> None:
    """A view as its file has it, with a comment on it and on each of its columns."""
    text = (files("pipeline.results") / "views" / f"{view.name}.sql").read_text(encoding="utf-8")
    warehouse.execute(text)
    comment(warehouse, view, "view")


def create_macros(database: duckdb.DuckDBPyConnection) -> None:
    """How a cell is printed, and whether it is at its bound or better, for views and for who asks by SQL."""
    text = (files("pipeline.results") / "views" / "macros.sql").read_text(encoding="utf-8")
    database.execute(text)


def comment(warehouse: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    """Say in the warehouse what a table or view and each of its columns mean."""
    comments = [f'comment on {kind} "{table.name}" is {sql_literal(table.description)}']
    comments += [
        f'comment on column "{table.name}"."{column.name}" is {sql_literal(column.description)}'
        for column in table.columns
    ]
    warehouse.execute(";".join(comments))


def insert(warehouse: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    """Add the rows of a frame, if there are any, column by name."""
    chosen = rows.select(table.names)
    if chosen.is_empty():
        return
    warehouse.register("rows_to_insert", chosen.to_arrow())
    listed = ", ".join(f'"{column}"' for column in table.names)
    warehouse.execute(f'insert into "{table.name}" ({listed}) select {listed} from rows_to_insert')  # noqa: S608 - own names
    warehouse.unregister("rows_to_insert")


def sql_literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
