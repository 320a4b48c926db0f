"""Views of the warehouse over a home's Parquet files: what is too large to copy.

A view stores the path of its files as text. So that a home which is moved or copied reads its own files, the
path begins where the warehouse itself lies: DuckDB's folder for temporary files is, unless someone sets
another, `<database>.tmp` beside the database that a session opened. A session that attaches the warehouse to
another database reads the home at which it was built.
"""

import glob

import duckdb

from pipeline.lake import Lake
from pipeline.results.tables import comment, create, sql_literal
from pipeline.schemas import GITHUB_EVENTS, QUARANTINE, TRAINING_VIEWS, Column, Table

HOME_FILES = r"""
create macro home_files(pattern) as
    case when suffix(current_setting('temp_directory'), {beside})
         then regexp_replace(parse_dirpath(current_setting('temp_directory')), '([*?\[])', '[\1]', 'g')
         else {home}
    end || '/' || pattern
"""


def create_home_files(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The macro `home_files`: a pattern of paths below the home, wherever that is now."""
    beside = sql_literal(f"/{lake.warehouse.name}.tmp")
    built_at = sql_literal(glob.escape(str(lake.home.resolve())))
    warehouse.execute(HOME_FILES.format(beside=beside, home=built_at))


def add_archive_views(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """`github_events` and `quarantine`, over the files of all days."""
    for table, folder in ((GITHUB_EVENTS, lake.github_events), (QUARANTINE, lake.github_quarantine)):
        pattern = f"{folder.relative_to(lake.home).as_posix()}/*/*.parquet"
        select = f"select {casts(table.columns)} from {scan_sql(pattern)}"  # noqa: S608 - own names
        add_view(warehouse, lake, table, pattern, select)


def add_training_views(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """`rankings` and others, over the files of all current trainings: a file's folder says whose it is."""
    for table in TRAINING_VIEWS.values():
        names, records = table.columns[:3], table.columns[3:]
        pattern = f"{lake.models.relative_to(lake.home).as_posix()}/*/*/{table.name}.parquet"
        select = (
            f"select {', '.join(column.name for column in names)}, {casts(records)} "  # noqa: S608 - own names
            f"from {scan_sql(pattern, 'filename = training_file')} "
            "join trainings on folder = array_to_string(string_split(training_file, '/')[-4:-2], '/') "
            "where current"
        )
        add_view(warehouse, lake, table, pattern, select)


def add_view(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, table: Table, pattern: str, select: str
) -> None:
    """A view with its comments; an empty table while the home has no file that fits `pattern`."""
    if next(lake.home.glob(pattern), None) is None:
        create(warehouse, table)
    else:
        warehouse.execute(f'create view "{table.name}" as {select}')
        comment(warehouse, table, "view")


def scan_sql(pattern: str, *options: str) -> str:
    """The files below the home; their folders are no columns."""
    listed = ", ".join((f"home_files({sql_literal(pattern)})", "hive_partitioning = false", *options))
    return f"read_parquet({listed}) files"


def casts(columns: tuple[Column, ...]) -> str:
    """Columns of the files, each of its type."""
    return ", ".join(f'files."{column.name}"::{column.sql_type} as "{column.name}"' for column in columns)
