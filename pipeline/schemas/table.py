"""The definitions of a table and a column, and the types in Parquet and SQL."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

Type = pl.DataType | type[pl.DataType]
TIME = pl.Datetime("us")
TEXT, NUMBER, COUNT, SMALL, FLAG = pl.String, pl.Float64, pl.Int64, pl.Int32, pl.Boolean
SQL_TYPES: tuple[tuple[Type, str], ...] = (
    (pl.String, "VARCHAR"),
    (pl.Int64, "BIGINT"),
    (pl.Int32, "INTEGER"),
    (pl.Float64, "DOUBLE"),
    (pl.Float32, "FLOAT"),
    (pl.Boolean, "BOOLEAN"),
    (pl.Date, "DATE"),
    (TIME, "TIMESTAMP"),
    (pl.List(pl.String), "VARCHAR[]"),
    (pl.List(pl.Float32), "FLOAT[]"),
    (pl.List(pl.Int64), "BIGINT[]"),
)


@dataclass(frozen=True)
class Column:
    """A column: its name, its polars type, and the meaning of its values."""

    name: str
    dtype: Type
    description: str

    @property
    def sql_type(self) -> str:
        """The type in the warehouse."""
        return next(sql for dtype, sql in SQL_TYPES if dtype == self.dtype)


FINGERPRINT = Column(
    "fingerprint", TEXT, "hash of the whole event table, which every result made from it carries"
)
TABLE_END = Column("as_of", TIME, "time of the newest event of the event table it was made from")
STALE = Column(
    "stale",
    FLAG,
    "whether that table has changed since: the last finished result, until a newer one is there",
)


@dataclass(frozen=True)
class Table:
    """A table: its name, a one-sentence description, and its columns in order."""

    name: str
    description: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise ValueError(f"columns of {self.name} has a name twice: {', '.join(self.names)}")

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def types(self) -> dict[str, Type]:
        """The polars schema."""
        return {column.name: column.dtype for column in self.columns}

    def cast(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return `rows` with exactly these columns, in order and cast to these types."""
        return rows.select(pl.col(column.name).cast(column.dtype) for column in self.columns)

    def stored(self) -> "Table":
        """Return the table as stored in Parquet: without `stale`, which only the warehouse computes."""
        lasting = tuple(column for column in self.columns if column != STALE)
        return Table(self.name, self.description, lasting)


def tables_by_name(tables: Iterable[Table]) -> dict[str, Table]:
    """Return tables keyed by name."""
    return {table.name: table for table in tables}
