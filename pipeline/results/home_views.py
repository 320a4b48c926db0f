"""Warehouse views over a home's Parquet files, for data too large to copy.

A view stores its file path as an SQL expression, evaluated from settings, variables and literals. The path
starts at the session variable `ldg_home`; else at the folder of the database that the session opened, taken
from the default of `temp_directory` (`<database>.tmp`); else at the home where the warehouse was built. Only
the variable is trusted. In the other cases each query checks that the warehouse lies in that folder, because
a session may have changed its temporary folder, or opened another home and attached this one.
"""

import duckdb

from pipeline.lake import Lake
from pipeline.results.tables import comment, create, sql_literal
from pipeline.schemas import GITHUB_EVENTS, QUARANTINE, TRAINING_VIEWS, Column, Table

# `is_home_certain` finds this warehouse among the attached databases by the comment on its macro `built_at`.
HOME_MACROS = r"""
create macro built_at() as {home};
comment on macro built_at is {home};
create macro home_folder() as coalesce(
    getvariable('ldg_home')::varchar,
    case when suffix(current_setting('temp_directory'), {beside})
         then parse_dirpath(current_setting('temp_directory')) end,
    built_at()
);
create macro home_files(pattern) as
    regexp_replace(home_folder(), '([*?\[])', '[\1]', 'g') || '/' || pattern;
create macro is_home_certain() as getvariable('ldg_home') is not null or (
    select case when list(distinct folder) = [home_folder()] then true else error(
        'This view would read the Parquet files of ' || home_folder() || ', but its warehouse lies in ' ||
        string_agg(distinct folder, ' and in ' order by folder) ||
        '. Name the home to read: SET VARIABLE ldg_home = ''' ||
        replace(min(folder), '''', '''''') || '''') end
    from (
        select parse_dirpath(path) as folder from duckdb_databases() where database_name in (
            select database_name from duckdb_functions()
            where function_name = 'built_at' and comment = built_at()
        )
    )
);
"""


def create_home_macros(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Create the macros that locate the home's files and reject those of another home."""
    beside = sql_literal(f"/{lake.warehouse.name}.tmp")
    warehouse.execute(HOME_MACROS.format(beside=beside, home=sql_literal(str(lake.home.resolve()))))


def add_archive_views(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Create the views `github_events` and `quarantine` over the files of all days."""
    for table, folder in ((GITHUB_EVENTS, lake.github_events), (QUARANTINE, lake.github_quarantine)):
        pattern = f"{folder.relative_to(lake.home).as_posix()}/*/*.parquet"
        columns = casts(table.columns)
        select = f"select {columns} from {scan_sql(pattern)} where is_home_certain()"  # noqa: S608 - own names
        add_view(warehouse, lake, table, pattern, select)


def add_training_views(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Create `rankings` and similar views over the files of current trainings, joined by their folder."""
    for table in TRAINING_VIEWS.values():
        names, records = table.columns[:3], table.columns[3:]
        pattern = f"{lake.models.relative_to(lake.home).as_posix()}/*/*/{table.name}.parquet"
        select = (
            f"select {', '.join(column.name for column in names)}, {casts(records)} "  # noqa: S608 - own names
            f"from {scan_sql(pattern, 'filename = training_file')} "
            "join trainings on folder = array_to_string(string_split(training_file, '/')[-4:-2], '/') "
            "where current and is_home_certain()"
        )
        add_view(warehouse, lake, table, pattern, select)


def add_view(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, table: Table, pattern: str, select: str
) -> None:
    """Create a view with comments, or an empty table while no file of the home matches `pattern`."""
    if next(lake.home.glob(pattern), None) is None:
        create(warehouse, table)
    else:
        warehouse.execute(f'create view "{table.name}" as {select}')
        comment(warehouse, table, "view")


def scan_sql(pattern: str, *options: str) -> str:
    """Return the SQL that reads the home's files matching `pattern`; folders do not become columns."""
    listed = ", ".join((f"home_files({sql_literal(pattern)})", "hive_partitioning = false", *options))
    return f"read_parquet({listed}) files"


def casts(columns: tuple[Column, ...]) -> str:
    """Return a select list that casts each file column to its type."""
    return ", ".join(f'files."{column.name}"::{column.sql_type} as "{column.name}"' for column in columns)
