"""DuckDB queries over the normalized events of a range of days, out of core and without globbing."""

import glob
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

MEMORY = "1GB"


def files_by_day(events: Path, start: date, end: date) -> dict[str, list[Path]]:
    """Return the Parquet files of the file days from `start` to `end`, by day, without empty days."""
    days = {folder.name.removeprefix("date="): folder for folder in sorted(events.glob("date=*"))}
    files = {
        day: sorted(folder.glob("*.parquet"))
        for day, folder in days.items()
        if start.isoformat() <= day <= end.isoformat()
    }
    return {day: parts for day, parts in files.items() if parts}


def day_files(events: Path, start: date, end: date) -> tuple[list[str], int]:
    """Return these files as one list of literal paths for DuckDB, and the number of days that have any."""
    files = files_by_day(events, start, end)
    return [literal_path(part) for parts in files.values() for part in parts], len(files)


def literal_path(path: Path) -> str:
    """Return a path escaped so that DuckDB does not take it for a pattern."""
    return glob.escape(str(path))


@contextmanager
def database(threads: int | None = None) -> Generator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB that spills to a scratch folder beyond `MEMORY`, with `threads` or all."""
    with TemporaryDirectory(prefix="ldg-duckdb-") as scratch, duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{scratch}'")
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")  # callers show their own progress
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        yield connection


def query_frame(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, object] | None = None
) -> pl.DataFrame:
    """Run `query` and return its result as a frame."""
    return connection.sql(query, params=parameters).pl()


def copy_statement(query: str, path: Path) -> str:
    """Return the statement that writes the result of `query` as Parquet."""
    return f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
