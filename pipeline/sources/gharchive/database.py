"""The normalized events of a range of days, for DuckDB: out of core, and a path is never a pattern."""

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
    """The Parquet files of the file days from `start` to `end`, by day where it has any."""
    days = {folder.name.removeprefix("date="): folder for folder in sorted(events.glob("date=*"))}
    files = {
        day: sorted(folder.glob("*.parquet"))
        for day, folder in days.items()
        if start.isoformat() <= day <= end.isoformat()
    }
    return {day: parts for day, parts in files.items() if parts}


def day_files(events: Path, start: date, end: date) -> tuple[list[str], int]:
    """The same as one list for DuckDB, and how many days have any."""
    files = files_by_day(events, start, end)
    return [literal_path(part) for parts in files.values() for part in parts], len(files)


def literal_path(path: Path) -> str:
    """A path that DuckDB does not take for a pattern."""
    return glob.escape(str(path))


@contextmanager
def database(threads: int | None = None) -> Generator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory that spills to a scratch folder beyond `MEMORY`; `threads` of its own, or all."""
    with TemporaryDirectory(prefix="ldg-duckdb-") as scratch, duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{scratch}'")
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")  # who runs this shows progress of their own
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        yield connection


def query_frame(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, object] | None = None
) -> pl.DataFrame:
    """DuckDB's answer to `query` as a frame."""
    return connection.sql(query, params=parameters).pl()


def copy_statement(query: str, path: Path) -> str:
    """DuckDB's statement that writes the answer to `query` as Parquet."""
    return f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
