"""Table `dataset_stats`: one row per dataset of the lake."""

import polars as pl

from pipeline.event_table import dataset_names, read_metadata
from pipeline.lake import Lake, write_parquet
from pipeline.schemas import DATASET_STATS, TIME


def dataset_stats(lake: Lake) -> pl.DataFrame:
    """Return the table `dataset_stats`: one row per dataset of the lake."""
    rows = []
    for dataset in dataset_names(lake):
        metadata = read_metadata(lake.dataset(dataset))
        everything = {**metadata, **metadata["split"], **metadata["stats"], "dataset": dataset}
        rows.append({column: everything[column] for column in DATASET_STATS.names})
    # JSON stores times as text.
    times = [column.name for column in DATASET_STATS.columns if column.dtype == TIME]
    frame = pl.DataFrame(rows, schema={**DATASET_STATS.types, **dict.fromkeys(times, pl.String)})
    return frame.with_columns(pl.col(*times).str.to_datetime(time_unit="us"))


def write_dataset_stats(lake: Lake) -> dict[str, int]:
    """Write `results/dataset_stats.parquet` and return its row count by table name."""
    rows = dataset_stats(lake)
    write_parquet(rows, lake.results / f"{DATASET_STATS.name}.parquet")
    return {DATASET_STATS.name: rows.height}
