"""Result tables as Parquet: written whole under `results/`, and read back for display."""

from collections.abc import Iterable, Iterator

import polars as pl

from pipeline.event_table import EventTable, dataset_names
from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.schemas import BASELINES, CALIBRATION, MODEL, NEXT_EVENT_TIME, Table
from pipeline.variant_names import variant_key

MODEL_NAMES = [column.name for column in MODEL[:3]]  # dataset, variant and interaction


def stacked(frames: Iterable[pl.DataFrame], table: Table) -> pl.DataFrame:
    """Concatenate frames of one result table; no frames give an empty one with its columns."""
    return pl.concat([pl.DataFrame(schema=table.stored().types), *frames])


def write_results(lake: Lake, frames: dict[str, pl.DataFrame]) -> dict[str, int]:
    """Write each frame of new results to `results/<name>.parquet` and return the row counts by name.

    A model without new results keeps its last finished ones.
    """
    counts = {}
    for name, fresh in frames.items():
        rows = pl.concat([fresh, last_finished(lake, name, fresh)])
        write_parquet(rows, lake.results / f"{name}.parquet")
        counts[name] = rows.height
    return counts


def last_finished(lake: Lake, table: str, fresh: pl.DataFrame) -> pl.DataFrame:
    """Return stored rows of models without rows in `fresh`: they are stale or being retrained.

    Models whose folder is deleted are dropped; a file with another schema (an earlier version) gives no rows.
    """
    path = lake.results / f"{table}.parquet"
    stored = read_parquet(path) if path.exists() else fresh.clear()
    if stored.schema != fresh.schema:
        return fresh.clear()
    models = stored.select(MODEL_NAMES).unique().join(fresh, on=MODEL_NAMES, how="anti")
    awaited = [
        names
        for names in models.drop_nulls().rows()
        if lake.model(names[0], variant_key(*names[1:])).exists()
    ]
    return stored.join(pl.DataFrame(awaited, models.schema, orient="row"), on=MODEL_NAMES, how="semi")


def result_rows(lake: Lake, table: str) -> Iterator[pl.DataFrame]:
    """Yield the stored frames of a result table: one file, or one per dataset if measured per dataset."""
    of_lane = {BASELINES.name: lake.dataset, NEXT_EVENT_TIME.name: lake.waiting_times}
    of_lane |= {CALIBRATION.name: lake.waiting_times}
    if table in of_lane:
        for dataset in dataset_names(lake):
            path = of_lane[table](dataset) / f"{table}.parquet"
            if path.exists():
                yield read_parquet(path).with_columns(dataset=pl.lit(dataset))
    elif (path := lake.results / f"{table}.parquet").exists():
        yield read_parquet(path)


def missing_columns(rows: pl.DataFrame, table: Table) -> set[str]:
    """Return the columns that stored rows of a result table lack because an earlier version wrote them."""
    return set(table.stored().names) - set(rows.columns)


def read_result(lake: Lake, result: str, table: EventTable) -> pl.DataFrame | None:
    """Return the rows of a result table with this event table's fingerprint, or None."""
    belongs = (pl.col("dataset") == table.name) & (pl.col("fingerprint") == table.metadata["fingerprint"])
    parts = [rows.filter(belongs) for rows in result_rows(lake, result)]
    return next((rows for rows in parts if rows.height), None)
