"""Metadata of materializations, as the UI shows it: previews of frames, metrics, pictures, column schemas."""

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
    """Return the metadata of a frame: its row count, a preview of its first rows, and `more`."""
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
    its model.json, and a row for each epoch.

    The UI plots numbers, so facts other than the training's seconds are text.
    """
    curves = trained.read("curves")
    # The UI sorts plots by name, two in a row: so a metric and the best baseline's stand side by side.
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
    """Return a cell as a type that the UI's tables accept; other types become text."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def as_text(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    """Return a number as text, which the UI does not plot, and any other value unchanged."""
    return str(value) if isinstance(value, int | float) else value


def inline_picture(title: str, png: bytes) -> str:
    """Return a PNG picture as Markdown with a data URL."""
    return f"![{escape_markdown(title)}](data:image/png;base64,{base64.b64encode(png).decode()})"


def column_schema(table: Table) -> TableSchema:
    """Return the columns of a table with their SQL types and descriptions, for the UI."""
    return TableSchema(
        [TableColumn(column.name, column.sql_type, column.description) for column in table.columns]
    )
