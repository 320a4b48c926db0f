"""How well who-interacts-next was ranked: the ranking rule, its metrics and their result tables."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.event_table import EventTable, dataset_names, read_event_table
from pipeline.lake import Lake, read_parquet, write_parquet

HITS_AT = (1, 3, 10)
MOST_SLOTS = 10
# Lengths of a time slot below one day; from there on a slot is a whole number of days.
SHORT_SLOTS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720)
)


def mid_ranks(scores: np.ndarray, target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The 0-based rank of each row's target among every node but its source; ties share the mean rank.

    `scores` (E, N) holds each event's scores of all nodes, higher is likelier; `target` and `source` (E,)
    are nodes.
    """
    if (target == source).any():
        raise ValueError("target equals source in a row; a node is never its own candidate")
    rows = np.arange(len(target))
    own = scores[rows, target]  # (E,)
    if np.isnan(own).any() or np.isnan(scores).any():
        raise ValueError("scores has NaN; a candidate without a score cannot be ranked")
    of_source = scores[rows, source]  # (E,)
    above = np.count_nonzero(scores > own[:, None], axis=1) - (of_source > own)
    level = np.count_nonzero(scores == own[:, None], axis=1) - (of_source == own) - 1
    return above + level / 2


def metrics() -> list[pl.Expr]:
    """Aggregations of the columns rank_v and rank_u of events: their number, MAR, HITS@k and MRR.

    Each event counts once: a metric is first averaged over the event's two directions. HITS@k counts ranks
    0 to k − 1: a tie across the edge of the top k, whose mean rank is k − ½, is no hit.
    """
    rank_v, rank_u = pl.col("rank_v").cast(pl.Float64), pl.col("rank_u").cast(pl.Float64)
    return [
        pl.len().cast(pl.Int64).alias("events"),
        ((rank_v + rank_u) / 2).mean().alias("mar"),
        *(
            (((rank_v <= k - 1).cast(pl.Float64) + (rank_u <= k - 1).cast(pl.Float64)) / 2)
            .mean()
            .alias(f"hits_at_{k}")
            for k in HITS_AT
        ),
        ((1 / (rank_v + 1) + 1 / (rank_u + 1)) / 2).mean().alias("mrr"),
    ]


METRICS = ("mar", "hits_at_10", "mrr", "hits_at_1", "hits_at_3")
MODEL_SCHEMA = {"dataset": pl.String, "variant": pl.String, "interaction": pl.String, "seed": pl.Int64}
METRICS_SCHEMA = {"events": pl.Int64, **dict.fromkeys(METRICS, pl.Float64)}
TIME = pl.Datetime("us")
SCHEMAS: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {
    "link_prediction": {**MODEL_SCHEMA, "split": pl.String, **METRICS_SCHEMA, "fingerprint": pl.String},
    "link_prediction_by_slot": {
        **MODEL_SCHEMA,
        "split": pl.String,
        **METRICS_SCHEMA,
        "slot_start": TIME,
        "slot_end": TIME,
        "fingerprint": pl.String,
    },
    "link_prediction_by_group": {
        **MODEL_SCHEMA,
        "split": pl.String,
        "grouping": pl.String,
        "value": pl.String,
        **METRICS_SCHEMA,
        "fingerprint": pl.String,
    },
    "training_curves": {
        **MODEL_SCHEMA,
        "step": pl.Int64,
        "epoch": pl.Int64,
        "loss_events": pl.Float64,
        "loss_nonevents": pl.Float64,
        "loss_kl": pl.Float64,
        "mar": pl.Float64,
        "test_mar": pl.Float64,
        "fingerprint": pl.String,
    },
}


@dataclass(frozen=True)
class TrainedVariant:
    """A finished variant: its folder, what the folder's name says, and the event table it learned from."""

    folder: Path
    dataset: str
    variant: str
    interaction: str
    fingerprint: str

    def path(self, file: str) -> Path:
        """Where one of the variant's tables is kept."""
        return self.folder / f"{file}.parquet"

    def label(self, rows: pl.DataFrame, schema: dict[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
        """`rows` with the variant's names beside them, in the columns and types of a result table."""
        named = rows.with_columns(
            dataset=pl.lit(self.dataset),
            variant=pl.lit(self.variant),
            interaction=pl.lit(self.interaction),
            fingerprint=pl.lit(self.fingerprint),
        )
        return named.select(pl.col(column).cast(dtype) for column, dtype in schema.items())


def trained_variants(lake: Lake, dataset: str) -> list[TrainedVariant]:
    """The finished variants that learned from the dataset's present event table, by name.

    One without `model.json` is unfinished; one with another fingerprint learned from a table that is gone,
    and its event numbers mean nothing in the present one.
    """
    present = json.loads((lake.dataset(dataset) / "dataset.json").read_text(encoding="utf-8"))["fingerprint"]
    return [
        TrainedVariant(path.parent, dataset, *variant_names(path.parent.name), present)
        for path in sorted(lake.model(dataset, "*").parent.glob("*/model.json"))
        if json.loads(path.read_text(encoding="utf-8"))["fingerprint"] == present
    ]


def variant_names(folder: str) -> tuple[str, str]:
    """The variant's name and its interaction from `<name>-<interaction>`."""
    name, dash, interaction = folder.rpartition("-")
    if not dash or interaction not in ("concat", "bilinear"):
        raise ValueError(
            f"model folder {folder!r} is not named <name>-concat or <name>-bilinear; rename or remove it"
        )
    return name, interaction


def ranked_events(trained: TrainedVariant, table: EventTable) -> pl.DataFrame:
    """A variant's rankings beside their events; refused when communications are missing."""
    ranked = read_parquet(trained.path("rankings")).join(
        with_history(table.events).drop("split"), on="idx", how="left"
    )
    if ranked["kind"].null_count():
        raise ValueError(
            f"{trained.folder}/rankings.parquet ranks events the table does not have: train again"
        )
    expected = table.events.filter(pl.col("kind") == "communication").group_by("split").len("expected")
    found = ranked.filter(pl.col("kind") == "communication").group_by("seed", "split").len("found")
    short = found.join(expected, on="split").filter(pl.col("found") != pl.col("expected"))
    if short.height:
        row = short.row(0, named=True)
        raise ValueError(
            f"{trained.folder}/rankings.parquet has {row['found']:,} of {row['expected']:,} "
            f"{row['split']} communications for seed {row['seed']}: train again"
        )
    return ranked


def with_history(events: pl.DataFrame) -> pl.DataFrame:
    """`events` with `pair`: whether an earlier event, of any kind and direction, joined the two nodes."""
    low, high = pl.min_horizontal("u", "v"), pl.max_horizontal("u", "v")
    first = pl.col("idx").min().over(low, high)
    return events.with_columns(
        pair=pl.when(pl.col("idx") > first).then(pl.lit("seen before")).otherwise(pl.lit("never seen"))
    )


def slot_length(first: datetime, last: datetime) -> timedelta:
    """The shortest round length that cuts the time from `first` to `last` into at most ten slots."""
    for length in SHORT_SLOTS:
        if slot_number(last, slot_origin(first, length), length) < MOST_SLOTS:
            return length
    origin = slot_origin(first, timedelta(days=1))
    return timedelta(days=(last - origin) // (MOST_SLOTS * timedelta(days=1)) + 1)


def slot_origin(first: datetime, length: timedelta) -> datetime:
    """The round moment at or before `first` where the first slot starts."""
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (first - midnight) // length * length if length < timedelta(days=1) else midnight


def slot_number(moment: datetime, origin: datetime, length: timedelta) -> int:
    """Which slot, from 0, a moment falls into."""
    return (moment - origin) // length


def by_slot(ranked: pl.DataFrame, table: EventTable) -> pl.DataFrame:
    """Metrics of the test communications per time slot; a slot without any has no row."""
    times = table.events.filter(pl.col("split") == "test")["created_at"]
    first, last = times.min(), times.max()
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    length = slot_length(first, last)
    origin = slot_origin(first, length)
    microseconds = length // timedelta(microseconds=1)
    since = (pl.col("created_at") - origin).dt.total_microseconds()
    return (
        ranked.filter(pl.col("split") == "test", pl.col("kind") == "communication")
        .with_columns(
            slot_start=pl.lit(origin, TIME) + pl.duration(microseconds=since // microseconds * microseconds)
        )
        .group_by("seed", "split", "slot_start")
        .agg(metrics())
        .with_columns(slot_end=pl.col("slot_start") + length)
        .sort("seed", "slot_start")
    )


def by_group(ranked: pl.DataFrame) -> pl.DataFrame:
    """Metrics per kind and type of event, and for communications whether their pair was seen before."""
    groupings = {
        "kind": ranked,
        "type": ranked,
        "pair": ranked.filter(pl.col("kind") == "communication"),
    }
    return pl.concat(
        rows.group_by("seed", "split", pl.col(grouping).alias("value"))
        .agg(metrics())
        .with_columns(grouping=pl.lit(grouping))
        .sort("seed", "split", "value")
        for grouping, rows in groupings.items()
    )


def link_prediction(lake: Lake) -> dict[str, pl.DataFrame]:
    """The tables `link_prediction`, `…_by_slot` and `…_by_group` of all trained variants, by name."""
    parts: dict[str, list[pl.DataFrame]] = {
        name: [] for name in ("link_prediction", "link_prediction_by_slot", "link_prediction_by_group")
    }
    for dataset in dataset_names(lake):
        table = read_event_table(lake.dataset(dataset))
        for trained in trained_variants(lake, dataset):
            ranked = ranked_events(trained, table)
            communications = ranked.filter(pl.col("kind") == "communication")
            rows = {
                "link_prediction": communications.group_by("seed", "split")
                .agg(metrics())
                .sort("seed", "split"),
                "link_prediction_by_slot": by_slot(ranked, table),
                "link_prediction_by_group": by_group(ranked),
            }
            for name, frame in rows.items():
                parts[name].append(trained.label(frame, SCHEMAS[name]))
    return {name: stacked(frames, SCHEMAS[name]) for name, frames in parts.items()}


def training_curves(lake: Lake) -> pl.DataFrame:
    """The table `training_curves` of all trained variants."""
    return stacked(
        (
            trained.label(read_parquet(trained.path("curves")), SCHEMAS["training_curves"])
            for dataset in dataset_names(lake)
            for trained in trained_variants(lake, dataset)
        ),
        SCHEMAS["training_curves"],
    )


def stacked(
    frames: Iterable[pl.DataFrame], schema: dict[str, pl.DataType | type[pl.DataType]]
) -> pl.DataFrame:
    """Frames of one schema as one; none at all give an empty frame of that schema."""
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def write_link_prediction(lake: Lake) -> dict[str, int]:
    """Write the three link prediction tables under `results/` and return their row counts by name."""
    tables = link_prediction(lake)
    for name, frame in tables.items():
        write_parquet(frame, lake.results / f"{name}.parquet")
    return {name: frame.height for name, frame in tables.items()}


def write_training_curves(lake: Lake) -> dict[str, int]:
    """Write `results/training_curves.parquet` and return its row count by its name."""
    curves = training_curves(lake)
    write_parquet(curves, lake.results / "training_curves.parquet")
    return {"training_curves": curves.height}
