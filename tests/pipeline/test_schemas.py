"""Columns are written down once: files, warehouse and documentation follow."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.schemas import EVENT_TABLE, RESULTS, TRAINED, WAREHOUSE, Column, Table
from pipeline.show.column_docs import DOCUMENTS, PLACE, with_columns

ROOT = Path(__file__).parents[2]
EVERY = [*EVENT_TABLE.values(), *TRAINED.values(), *WAREHOUSE.values()]


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_every_table_and_column_says_what_it_means_in_types_both_sides_have(table: Table) -> None:
    assert table.description.endswith(".")
    for column in table.columns:
        assert column.sql_type
        assert column.description
        assert not column.description.endswith(".")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documentation_explains_every_table_as_the_schemas_do(document: str) -> None:
    """`python -m pipeline.show.column_docs` writes what is missing."""
    text = (ROOT / document).read_text(encoding="utf-8")
    assert sorted(name for _, name, _ in PLACE.findall(text)) == sorted(DOCUMENTS[document])
    assert with_columns(text, DOCUMENTS[document]) == text


def test_a_place_for_a_table_that_there_is_not_is_told() -> None:
    with pytest.raises(ValueError, match="columns: nothing names no table"):
        with_columns("<!-- columns: nothing -->\n<!-- end of columns -->", {})


def test_a_stored_result_names_the_event_table_it_was_made_from() -> None:
    for table in RESULTS.values():
        *lasting, fingerprint = table.stored().names
        assert [*lasting, "stale", fingerprint] == table.names
        assert table.stored().names[-2:] == ["as_of", "fingerprint"]


def test_a_frame_is_cast_to_columns_order_and_types_of_its_table() -> None:
    table = Table("toy", "A toy.", (Column("b", pl.Int32, "b"), Column("a", pl.Float64, "a")))
    cast = table.cast(pl.DataFrame({"a": [1], "b": [2], "c": [3]}))
    assert dict(cast.schema) == table.types == {"b": pl.Int32, "a": pl.Float64}


def test_a_column_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a name twice"):
        Table("toy", "A toy.", (Column("a", pl.Int32, "a"), Column("a", pl.Int64, "a")))
