"""What an asset shows in the UI of the frame it wrote."""

import base64
from collections.abc import Mapping
from typing import Any

import polars as pl
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from pipeline.results.standing import Standing
from pipeline.results.trained import TrainedVariant
from pipeline.schemas import Table
from pipeline.text import escape_markdown

PREVIEW_ROWS = 10


def shown(frame: pl.DataFrame, **more: Any) -> Mapping[str, Any]:  # noqa: ANN401 - metadata takes any value
    """Row count, a preview of the first rows, and whatever else `more` holds."""
    head = frame.head(PREVIEW_ROWS)
    preview = MetadataValue.table(
        records=[
            TableRecord({name: plain_cell(value) for name, value in row.items()}) for row in head.to_dicts()
        ],
        schema=TableSchema([TableColumn(name, str(dtype)) for name, dtype in head.schema.items()]),
    )
    return {"dagster/row_count": frame.height, **more, "preview": preview}


def shown_training(trained: TrainedVariant, stands: Standing) -> Mapping[str, Any]:
    """Return the metadata of a trained variant: its test metrics and those of the best baseline, the facts of
    its model.json, and how each epoch came out.

    The UI plots numbers, so facts other than the training's seconds are text.
    """
    curves = trained.read("curves")
    # Plots are in the order of the alphabet, two in a row: a metric, and the best baseline's beside it.
    beside = {f"{name}_of_best_baseline": value for name, value in (stands.of_baseline or {}).items()}
    metadata = shown(
        curves.filter(pl.col("mar").is_not_null()),
        **stands.metrics,
        **beside,
        **({"best_baseline": stands.baseline} if stands.baseline else {}),
        **{
            name: fact if name == "training_seconds" else as_text(fact)
            for name, fact in trained.facts.items()
        },
        folder=MetadataValue.path(trained.folder.resolve()),
    )
    return {name: value for name, value in metadata.items() if name != "dagster/row_count"}


def plain_cell(value: Any) -> str | int | float | bool | None:  # noqa: ANN401 - a cell of any frame
    """A cell as the UI's tables take it."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def as_text(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    """Return a number as text, which the UI does not plot, and any other value unchanged."""
    return str(value) if isinstance(value, int | float) else value


def inline_picture(title: str, png: bytes) -> str:
    """Return a picture as Markdown that needs no file."""
    return f"![{escape_markdown(title)}](data:image/png;base64,{base64.b64encode(png).decode()})"


def column_schema(table: Table) -> TableSchema:
    """The columns of a table with their meaning, as the UI shows them."""
    return TableSchema(
        [TableColumn(column.name, column.sql_type, column.description) for column in table.columns]
    )
