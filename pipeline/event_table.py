"""Event tables: the events, nodes, association graphs and statistics of a dataset, as all models use them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from pipeline.lake import Lake, file_sha256, read_parquet, write_json, write_parquet
from pipeline.names import (
    ASSOCIATION_KIND,
    COMMUNICATION_KIND,
    FINAL,
    INITIAL,
    KINDS,
    SNAPSHOTS,
    SPLITS,
    TEST,
    TRAIN,
    VALIDATION,
)
from pipeline.schemas import EVENT_TABLE, Type

CLOCKS = ("UTC", "local")
METADATA = "dataset.json"  # in the folder of an event table; written last
SCHEMAS = {name: table.types for name, table in EVENT_TABLE.items()}


@dataclass(frozen=True)
class EventTable:
    """One dataset, ready for training; the frames have exactly the columns of `SCHEMAS`.

    In `events` and `nodes` the user's own numeric columns follow, if any, with null for unknown values.
    `metadata` is the content of `dataset.json`: description, relations, clock, split, stats, dropped rows.
    When read from a folder, it also has file hashes and the `fingerprint` that trained models refer to.
    """

    name: str
    title: str
    nodes: pl.DataFrame
    events: pl.DataFrame
    associations: pl.DataFrame
    association_events: pl.DataFrame
    metadata: dict[str, Any]

    def own_columns(self, frame: str) -> list[str]:
        """Return the user's own numeric columns of `events` or `nodes`."""
        return self.metadata.get("own_columns", {}).get(frame, [])

    def schema(self, frame: str) -> dict[str, Type]:
        """Return the columns and types of a frame, including own columns."""
        return SCHEMAS[frame] | dict.fromkeys(self.own_columns(frame), pl.Float64)

    @property
    def as_of(self) -> datetime:
        """The time of the newest event."""
        return newest_time(self.events.lazy())


@dataclass(frozen=True)
class Split:
    """The start of the test period and the clock of event times.

    `test_start` is wall-clock time in `time_zone`. With the clock `UTC`, event times are UTC and `boundary`
    is converted to UTC; with `local`, event times are wall-clock times of `time_zone`.
    """

    test_start: datetime
    time_zone: str = "UTC"
    clock: str = "UTC"

    def __post_init__(self) -> None:
        if self.clock not in CLOCKS:
            raise ValueError(f"clock is {self.clock!r}; it takes 'UTC' or 'local'")
        if not is_time_zone(self.time_zone):
            raise ValueError(
                f"time_zone is {self.time_zone!r}; it takes a zone's full name, such as 'America/Toronto'"
            )
        if self.test_start.tzinfo is not None:
            raise ValueError(
                "test_start carries a UTC offset; it takes a time without one, read in time_zone"
            )
        try:
            on_clock(self.test_start, self.time_zone, self.clock)
        except OverflowError:
            raise ValueError(
                f"test_start is {self.test_start}, in UTC outside the years 1 to 9999; it takes a time within"
            ) from None

    @property
    def boundary(self) -> datetime:
        """The start of the test period on the clock of the event table, naive."""
        return on_clock(self.test_start, self.time_zone, self.clock)


def is_time_zone(name: str) -> bool:
    """Return True if both Python and polars know the time zone; polars does not know `localtime`."""
    try:
        ZoneInfo(name)
        pl.Series([datetime(2000, 1, 1)]).dt.replace_time_zone(name)
    # ZoneInfo raises OSError for a folder of the time zone database.
    except (ZoneInfoNotFoundError, ValueError, OSError, pl.exceptions.PolarsError):
        return False
    return True


def on_clock(moment: datetime, time_zone: str, clock: str) -> datetime:
    """Convert a naive wall-clock `moment` of `time_zone` to a naive time on `clock`."""
    if clock == "local":
        return moment
    return moment.replace(tzinfo=ZoneInfo(time_zone)).astimezone(ZoneInfo("UTC")).replace(tzinfo=None)


def build_event_table(
    *,
    name: str,
    title: str,
    description: str,
    rows: pl.DataFrame,
    node_names: Sequence[str],
    split: Split,
    own_relations: Sequence[str],
    associations: pl.DataFrame | None = None,
    association_events: pl.DataFrame | None = None,
    features: Sequence[Sequence[float]] | None = None,
    entries_per_association: int = 1,
    dropped: dict[str, int] | None = None,
    own_columns: Mapping[str, Sequence[str]] | None = None,
    node_values: pl.DataFrame | None = None,
) -> EventTable:
    """Assign numbers to nodes and events, split events by time, compute statistics, and validate the result.

    `rows` has source, target, type, kind, created_at (naive, on the split's clock); simultaneous events keep
    their order. The position in `node_names` is the node id; every name must be in it. `associations` has
    relation, snapshot, source, target: one row per entry of a directed adjacency, without duplicates in the
    result; the diagonal is allowed (a self-report in a survey). `own_relations` are the relations that the
    dataset's association events form; others are kept for comparison.
    `association_events` has relation, source, target, created_at.
    The validation period is the last tenth of the time from the first event to the start of the test period.
    The statistics count `entries_per_association` adjacency entries as one association.
    `dropped` counts source rows missing in `rows`, by reason. `own_columns` names further numeric columns for
    models, by frame: those of `events` are in `rows`, those of `nodes` in `node_values`, by position.
    Raise ValueError for invalid arguments or a table that breaks the contract.
    """
    if entries_per_association not in (1, 2):
        raise ValueError(f"entries_per_association is {entries_per_association}; it takes 1 or 2")
    if not own_relations:
        raise ValueError(
            f"dataset {name!r}: own_relations is empty; it takes what its association events form"
        )
    if rows.is_empty():
        raise ValueError(f"dataset {name!r} has no events; check the dates and the node list")
    ids = pl.DataFrame({"name": list(node_names)}, schema={"name": pl.String}).with_row_index("node")
    if ids["name"].n_unique() != ids.height:
        twice = ids.filter(pl.col("name").is_duplicated())["name"][0]
        raise ValueError(f"dataset {name!r}: node {twice!r} is listed twice")

    first, boundary = rows["created_at"].min(), split.boundary
    assert isinstance(first, datetime)
    validation_start = boundary - (boundary - first) / 10
    events = (
        with_node_ids(rows, ids, name)
        .sort("created_at", maintain_order=True)
        .with_row_index("idx")
        .with_columns(split=split_by_time(validation_start, boundary))
    )
    graph = with_node_ids(empty("associations") if associations is None else associations, ids, name)
    ties = with_node_ids(
        empty("association_events") if association_events is None else association_events, ids, name
    )
    if features is not None and len(features) != len(node_names):
        raise ValueError(f"dataset {name!r}: {len(features)} rows of features for {len(node_names)} nodes")
    nodes = ids.with_columns(
        features=pl.Series(
            "features", [None] * ids.height if features is None else list(features), pl.List(pl.Float32)
        )
    )
    if node_values is not None:
        nodes = pl.concat([nodes, node_values], how="horizontal")
    named = {frame: list(columns) for frame, columns in (own_columns or {}).items() if columns}
    table = EventTable(
        name=name,
        title=title,
        nodes=shaped(nodes, "nodes", named.get("nodes", ())),
        events=shaped(events, "events", named.get("events", ())),
        associations=shaped(graph, "associations").unique().sort("relation", "snapshot", "u", "v"),
        association_events=shaped(ties, "association_events").sort(
            "created_at", "relation", "u", "v", maintain_order=True
        ),
        metadata={
            "name": name,
            "title": title,
            "description": description,
            "relations": [*own_relations, *sorted(set(graph["relation"]) - set(own_relations))],
            "own_relations": list(own_relations),
            "clock": split.clock,
            "time_zone": split.time_zone,
            "split": {
                "test_start": boundary.isoformat(),
                "validation_start": validation_start.isoformat(),
            },
            "entries_per_association": entries_per_association,
            "dropped": dropped or {},
            # Omitted if empty, as in tables of earlier versions.
            **({"own_columns": named} if named else {}),
        },
    )
    table.metadata["stats"] = table_2_stats(table)
    if violations := check_event_table(table):
        raise ValueError(f"dataset {name!r}: " + "; ".join(violations))
    return table


def split_by_time(validation_start: datetime, test_start: datetime) -> pl.Expr:
    """Return the expression that assigns an event's split by its time."""
    return (
        pl.when(pl.col("created_at") >= test_start)
        .then(pl.lit(TEST))
        .when(pl.col("created_at") >= validation_start)
        .then(pl.lit(VALIDATION))
        .otherwise(pl.lit(TRAIN))
    )


def with_node_ids(rows: pl.DataFrame, ids: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Add node ids u and v to `rows` with names source and target; raise ValueError for unknown names."""
    if "source" not in rows.columns:
        return rows
    joined = rows.join(
        ids.select(pl.col("name").alias("source"), pl.col("node").alias("u")),
        on="source",
        how="left",
        maintain_order="left",
    ).join(
        ids.select(pl.col("name").alias("target"), pl.col("node").alias("v")),
        on="target",
        how="left",
        maintain_order="left",
    )
    strangers = joined.filter(pl.col("u").is_null() | pl.col("v").is_null())
    if strangers.height:
        row = strangers.row(0, named=True)
        stranger = row["source"] if row["u"] is None else row["target"]
        raise ValueError(
            f"dataset {dataset!r}: {stranger!r} has events or associations but is not in the node list"
        )
    return joined


def empty(frame: str) -> pl.DataFrame:
    """Return an empty frame of the event table."""
    return pl.DataFrame(schema=SCHEMAS[frame])


def shaped(rows: pl.DataFrame, frame: str, own_columns: Sequence[str] = ()) -> pl.DataFrame:
    """Select and cast the columns of an event table's frame, then the own columns."""
    schema = SCHEMAS[frame] | dict.fromkeys(own_columns, pl.Float64)
    return rows.select(pl.col(column).cast(dtype) for column, dtype in schema.items())


def table_2_stats(table: EventTable) -> dict[str, int]:
    """Return the dataset's row of the paper's Table 2.

    Training counts include the validation period. Associations are entries of the own relations' graph,
    divided by `entries_per_association`: the paper prints entries for Social Evolution and half the directed
    follows for GitHub.
    """
    own = table.associations.filter(pl.col("relation").is_in(table.metadata["own_relations"]))
    own = own.unique(["snapshot", "u", "v"])
    per_tie = table.metadata["entries_per_association"]
    counts = table.events.group_by((pl.col("split") == TEST).alias("test"), "kind").len()
    by = {(test, kind): n for test, kind, n in counts.iter_rows()}
    return {
        "nodes": table.nodes.height,
        "initial_associations": own.filter(pl.col("snapshot") == INITIAL).height // per_tie,
        "final_associations": own.filter(pl.col("snapshot") == FINAL).height // per_tie,
        "train_communications": by.get((False, COMMUNICATION_KIND), 0),
        "train_associations": by.get((False, ASSOCIATION_KIND), 0),
        "test_communications": by.get((True, COMMUNICATION_KIND), 0),
        "test_associations": by.get((True, ASSOCIATION_KIND), 0),
    }


def check_event_table(table: EventTable) -> list[str]:
    """Return a message for every violation of the contract; an empty list for a valid table."""
    wrong = [
        f"{frame} has columns {dict(getattr(table, frame).schema)}, not {table.schema(frame)}"
        for frame in SCHEMAS
        if dict(getattr(table, frame).schema) != table.schema(frame)
    ]
    if wrong:
        return wrong
    events, nodes = table.events, table.nodes
    if loops := events.filter(pl.col("u") == pl.col("v")).height:
        wrong.append(f"{loops} events are self-loops")
    if not events["created_at"].is_sorted():
        wrong.append("event times are not sorted")
    if not events["idx"].equals(pl.int_range(events.height, eager=True)):
        wrong.append("event idx is not 0, 1, 2, …")
    if not nodes["node"].equals(pl.int_range(nodes.height, dtype=pl.Int32, eager=True)):
        wrong.append("node ids are not dense")
    if nodes["name"].n_unique() != nodes.height or nodes["name"].null_count():
        wrong.append("node names are missing or repeated")
    for frame in ("events", "associations", "association_events"):
        rows: pl.DataFrame = getattr(table, frame)
        if rows.select(list(SCHEMAS[frame])).null_count().sum_horizontal().sum():
            wrong.append(f"{frame} has empty values")
        outside = rows.filter(
            ~pl.col("u").is_between(0, nodes.height - 1) | ~pl.col("v").is_between(0, nodes.height - 1)
        )
        if outside.height:
            wrong.append(f"{frame} names nodes outside 0…{nodes.height - 1}")
    if strange := sorted(set(events["kind"]) - set(KINDS)):
        wrong.append(f"event kinds {strange} are neither association nor communication")
    if strange := sorted(set(table.associations["snapshot"]) - set(SNAPSHOTS)):
        wrong.append(f"snapshots {strange} are neither {' nor '.join(SNAPSHOTS)}")
    wrong += [
        f"column {column!r} of {frame} has values that are no numbers"
        for frame in ("events", "nodes")
        for column in table.own_columns(frame)
        if not getattr(table, frame)[column].drop_nulls().is_finite().all()
    ]
    wrong += split_violations(table)
    if table.metadata["stats"] != table_2_stats(table):
        wrong.append("counts differ from the stats")
    return wrong


def split_violations(table: EventTable) -> list[str]:
    """Return messages for splits that are not consecutive periods, or that lack training or test events."""
    events, wrong = table.events, []
    if strange := sorted(set(events["split"]) - set(SPLITS)):
        wrong.append(f"splits {strange} are none of {', '.join(SPLITS)}")
    boundaries = {part: datetime.fromisoformat(moment) for part, moment in table.metadata["split"].items()}
    expected = split_by_time(boundaries["validation_start"], boundaries["test_start"])
    if events.filter(pl.col("split") != expected).height:
        wrong.append("splits overlap in time")
    span = (
        f"{events['created_at'].min()} to {events['created_at'].max()}" if events.height else "no time at all"
    )
    where = f"(events span {span}; testing starts {boundaries['test_start']})"
    if not (events["split"] == TEST).any():
        wrong.append(f"no test event {where}")
    if not (events["split"] == TRAIN).any():
        wrong.append(f"no training event {where}")
    return wrong


def write_event_table(table: EventTable, folder: Path) -> dict[str, Any]:
    """Write the table's files, `dataset.json` last, and return the content of that file.

    The same table yields the same bytes. If the process is killed, files may not match `dataset.json`, which
    `read_event_table` detects. Raise ValueError for a table that breaks the contract.
    """
    if violations := check_event_table(table):
        raise ValueError(f"event table {table.name!r} is not written: " + "; ".join(violations))
    for frame in SCHEMAS:
        write_parquet(getattr(table, frame), folder / f"{frame}.parquet")
    hashes = {f"{frame}.parquet": file_sha256(folder / f"{frame}.parquet") for frame in SCHEMAS}
    metadata = {**table.metadata, "sha256": hashes}
    trained_on = {"sha256": hashes, "own_relations": metadata["own_relations"], "split": metadata["split"]}
    metadata["fingerprint"] = hashlib.sha256(json.dumps(trained_on, sort_keys=True).encode()).hexdigest()
    write_json(metadata, folder / METADATA)
    return metadata


def has_event_table(folder: Path) -> bool:
    """Return True if the folder has a finished event table."""
    return (folder / METADATA).exists()


def read_metadata(folder: Path) -> dict[str, Any]:
    """Read the `dataset.json` of a finished event table."""
    return json.loads((folder / METADATA).read_text(encoding="utf-8"))


def read_event_table(folder: Path) -> EventTable:
    """Read a table; raise FileNotFoundError if it is absent, ValueError if a file's hash does not match."""
    remedy = "build the dataset's event_table again"
    try:
        metadata = read_metadata(folder)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no finished event table in {folder} ({METADATA} is missing): {remedy}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{folder / METADATA} is not JSON ({error}): {remedy}") from None
    for file, expected in metadata["sha256"].items():
        path = folder / file
        if not path.exists() or file_sha256(path) != expected:
            raise ValueError(
                f"{path} is not the file that {METADATA} describes, the table is half replaced: {remedy}"
            )
    frames = {frame: read_parquet(folder / f"{frame}.parquet") for frame in SCHEMAS}
    return EventTable(name=metadata["name"], title=metadata["title"], metadata=metadata, **frames)


def dataset_names(lake: Lake) -> list[str]:
    """Return the sorted names of datasets with a finished event table."""
    return sorted(path.parent.name for path in lake.dataset("*").parent.glob(f"*/{METADATA}"))


def newest_time(events: pl.LazyFrame) -> datetime:
    """Return the time of the newest event."""
    return events.select(pl.col("created_at").max()).collect().item()
