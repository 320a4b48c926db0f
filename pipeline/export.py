"""Export of an event table for other tools: a folder with events, nodes, associations and `export.json`.

Parquet and CSV contain the same tables. `pyg` contains the events as the arrays of a PyG `TemporalData` in a
NumPy file without pickle; reading it does not need this project, writing it does not need PyG.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import new_folder, write_json, write_parquet
from pipeline.names import COMMUNICATION_KIND, SPLITS
from pipeline.schemas import EDGES, EXPORTED_ASSOCIATIONS, EXPORTED_NODES


def export(table: EventTable, form: str, folder: Path) -> dict[str, Any]:
    """Write `table` in the format `form` to the new `folder`, atomically; return its export.json."""
    if form not in FORMATS:
        raise ValueError(f"format is {form!r}; it takes one of {', '.join(FORMATS)}")
    meaning = {"format": form, **facts(table)}
    with new_folder(folder) as temporary:
        FORMATS[form](table, temporary)
        write_json(meaning, temporary / "export.json")
    return meaning


def facts(table: EventTable) -> dict[str, Any]:
    """Return the metadata of an export: clock, start, event types, and counts and first t of each split."""
    rows = edges(table)
    starts = dict(rows.group_by("split").agg(pl.col("t").min()).iter_rows())
    counts = dict(rows.group_by("split").len().iter_rows())
    copied = ("name", "title", "description", "clock", "time_zone", "fingerprint")
    return {
        **{name: table.metadata.get(name) for name in copied},
        "start": first_moment(table).isoformat(),
        "nodes": table.nodes.height,
        "events": {split: counts.get(split, 0) for split in SPLITS},
        "split_t": {split: starts.get(split) for split in SPLITS},
        "types": event_types(table),
    }


def event_types(table: EventTable) -> list[str]:
    """Return the sorted event types; the position is the `edge_type`."""
    return table.events["type"].unique().sort().to_list()


def first_moment(table: EventTable) -> datetime:
    """Return the time of the first event, where t = 0."""
    return table.events["created_at"][0]


def edges(table: EventTable) -> pl.DataFrame:
    """Return the events as the table `edges`."""
    names, types = table.nodes["name"], event_types(table)
    numbers = pl.DataFrame(
        {"type": types, "edge_type": range(len(types))}, schema_overrides={"type": pl.String}
    )
    rows = table.events.join(numbers, on="type", how="left", maintain_order="left").with_columns(
        src=pl.col("u"),
        dst=pl.col("v"),
        t=(pl.col("created_at") - first_moment(table)).dt.total_seconds(),
        label=pl.col("kind") == COMMUNICATION_KIND,
        source=names.gather(table.events["u"]),
        target=names.gather(table.events["v"]),
    )
    return pl.concat([EDGES.cast(rows), table.events.select(table.own_columns("events"))], how="horizontal")


def nodes(table: EventTable) -> pl.DataFrame:
    """Return the nodes as the table `nodes`; features become columns `x_0`, `x_1`, …, unless one is null."""
    own = table.nodes.select(table.own_columns("nodes"))
    rows = pl.concat([EXPORTED_NODES.cast(table.nodes), own], how="horizontal")
    if table.nodes["features"].null_count():
        return rows
    features = np.array(table.nodes["features"].to_list(), dtype=np.float32)  # (N, F)
    return rows.with_columns(pl.Series(f"x_{place}", column) for place, column in enumerate(features.T))


def associations(table: EventTable) -> pl.DataFrame:
    """Return the association graphs as the table `associations`."""
    return EXPORTED_ASSOCIATIONS.cast(table.associations.rename({"u": "src", "v": "dst"}))


def arrays(table: EventTable) -> dict[str, np.ndarray]:
    """Return the arrays of a `TemporalData`: src, dst, t, msg, y (the label) and a mask per split.

    `msg` has the one-hot event type and the user's columns, with 0 for unknown values.
    """
    rows = edges(table)
    types = np.eye(len(event_types(table)), dtype=np.float32)[rows["edge_type"].to_numpy()]  # (T, K)
    own = rows.select(pl.col(table.own_columns("events")).fill_null(0.0)).to_numpy().astype(np.float32)
    masks = {"train_mask": "train", "val_mask": "validation", "test_mask": "test"}
    return {
        **{name: rows[name].to_numpy().astype(np.int64) for name in ("src", "dst", "t")},
        "msg": np.concatenate([types, own], axis=1) if own.size else types,
        "y": rows["label"].to_numpy().astype(np.int64),
        **{name: (rows["split"] == split).to_numpy() for name, split in masks.items()},
    }


def write_tables(
    table: EventTable, folder: Path, *, suffix: str, write: Callable[[pl.DataFrame, Path], None]
) -> None:
    """Write each table to its own file."""
    for of_table in (edges, nodes, associations):
        write(of_table(table), folder / f"{of_table.__name__}{suffix}")


def write_csv(rows: pl.DataFrame, path: Path) -> None:
    """Write `rows` as CSV, times in ISO 8601."""
    rows.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S%.6f")


def write_arrays(table: EventTable, folder: Path) -> None:
    """Write the events as arrays, and nodes and associations, which `TemporalData` cannot hold, as CSV."""
    np.savez(folder / "temporal_data.npz", allow_pickle=False, **arrays(table))
    for of_table in (nodes, associations):
        write_csv(of_table(table), folder / f"{of_table.__name__}.csv")


FORMATS: dict[str, Callable[[EventTable, Path], None]] = {
    "parquet": partial(write_tables, suffix=".parquet", write=write_parquet),
    "csv": partial(write_tables, suffix=".csv", write=write_csv),
    "pyg": write_arrays,
}
