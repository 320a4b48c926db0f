"""What an asset shows in the UI of the frame it wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from pipeline.lake import read_parquet

PREVIEW_ROWS = 10


def shown(frame: pl.DataFrame, **more: Any) -> Mapping[str, Any]:  # noqa: ANN401 - metadata takes any value
    """Row count, a preview of the first rows, and whatever else `more` holds."""
    head = frame.head(PREVIEW_ROWS)
    preview = MetadataValue.table(
        records=[TableRecord({name: plain(value) for name, value in row.items()}) for row in head.to_dicts()],
        schema=TableSchema([TableColumn(name, str(dtype)) for name, dtype in head.schema.items()]),
    )
    return {"dagster/row_count": frame.height, **more, "preview": preview}


def shown_training(folder: Path, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is shown of a trained variant: what its model.json says, and how each epoch came out."""
    curves = read_parquet(folder / "curves.parquet")
    return shown(curves.filter(pl.col("mar").is_not_null()), **facts)


def plain(value: Any) -> str | int | float | bool | None:  # noqa: ANN401 - a cell of any frame
    """A cell as the UI's tables take it."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
