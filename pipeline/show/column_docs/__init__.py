"""Column tables in the documentation, generated from the schemas.

A table is placed between the lines `<!-- columns: NAME -->` and `<!-- end of columns -->`.
"""

import re
from collections.abc import Mapping

from pipeline.schemas import EVENT_TABLE, EXPLAINED, EXPORTED, TRAINED, WAREHOUSE, Table

DOCUMENTS: dict[str, Mapping[str, Table]] = {
    "docs/results-tables.md": WAREHOUSE,
    "docs/architecture.md": {**EVENT_TABLE, **TRAINED, **EXPLAINED},
    "docs/export.md": EXPORTED,
}
PLACE = re.compile(r"(<!-- columns: (\w+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)


def with_columns(text: str, tables: Mapping[str, Table]) -> str:
    """Fill in the column table at each place in `text` that names one of `tables`.

    Raises ValueError for a name that is not among them.
    """

    def filled(place: re.Match[str]) -> str:
        begin, name, end = place.groups()
        if name not in tables:
            raise ValueError(f"columns: {name} names no table; there are {', '.join(tables)}")
        return f"{begin}{column_table(tables[name])}{end}"

    return PLACE.sub(filled, text)


def column_table(table: Table) -> str:
    """Return a table's description and its columns, with type and meaning, as Markdown."""
    rows = "".join(
        f"| `{column.name}` | {column.sql_type} | {column.description} |\n" for column in table.columns
    )
    return f"\n{table.description}\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n"
