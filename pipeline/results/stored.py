"""Result tables as Parquet: written whole under `results/`, read back by whoever shows them."""

from collections.abc import Iterable, Iterator

import polars as pl

from pipeline.event_table import EventTable, dataset_names
from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.schemas import BASELINES, Table


def stacked(frames: Iterable[pl.DataFrame], table: Table) -> pl.DataFrame:
    """Frames of one result table as one; none at all give an empty frame with its columns."""
    return pl.concat([pl.DataFrame(schema=table.stored().types), *frames])


def write_results(lake: Lake, frames: dict[str, pl.DataFrame]) -> dict[str, int]:
    """Write each frame to `results/<name>.parquet` and return the row counts by name."""
    for name, frame in frames.items():
        write_parquet(frame, lake.results / f"{name}.parquet")
    return {name: frame.height for name, frame in frames.items()}


def result_rows(lake: Lake, table: str) -> Iterator[pl.DataFrame]:
    """What is stored of a result table: one file, or for the baselines one beside each event table."""
    if table == BASELINES.name:
        for dataset in dataset_names(lake):
            path = lake.dataset(dataset) / "baselines.parquet"
            if path.exists():
                yield read_parquet(path).with_columns(dataset=pl.lit(dataset))
    elif (path := lake.results / f"{table}.parquet").exists():
        yield read_parquet(path)


def read_result(lake: Lake, result: str, table: EventTable) -> pl.DataFrame | None:
    """The rows of a result table made from this very event table, or None when there is none."""
    belongs = (pl.col("dataset") == table.name) & (pl.col("fingerprint") == table.metadata["fingerprint"])
    parts = [rows.filter(belongs) for rows in result_rows(lake, result)]
    return next((rows for rows in parts if rows.height), None)
