"""Link prediction metrics: the ranking rule, the metrics and their result tables."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl

from pipeline.event_table import EventTable, dataset_names, read_event_table
from pipeline.lake import Lake
from pipeline.names import COMMUNICATION_KIND, HITS_AT, MAR, MRR, NEVER_SEEN, SEEN, TEST
from pipeline.results.stored import stacked, write_results
from pipeline.results.trained import TrainedVariant, current_variants
from pipeline.schemas import (
    LINK_PREDICTION,
    LINK_PREDICTION_BY_GROUP,
    LINK_PREDICTION_BY_SLOT,
    TIME,
    TRAINING_CURVES,
)

MOST_SLOTS = 10
# Slot lengths below one day; longer slots are whole days.
SHORT_SLOTS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720)
)


def mid_ranks(scores: np.ndarray, target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the 0-based rank of each row's target among all nodes but its source; ties share the mean rank.

    `scores` (E, N) holds each event's scores of all nodes, higher is likelier. `target` and `source` (E,) are
    node numbers. Raises ValueError for NaN scores and for rows whose target equals the source.
    """
    if (target == source).any():
        raise ValueError("target equals source in a row; a node is never its own candidate")
    if np.isnan(scores).any():
        raise ValueError("scores has NaN; a candidate without a score cannot be ranked")
    return unchecked_ranks(scores, target, source)


def unchecked_ranks(scores: np.ndarray, target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Compute `mid_ranks` without checks; the rank of a row with NaN is meaningless."""
    rows = np.arange(len(target))
    own = scores[rows, target]  # (E,)
    of_source = scores[rows, source]  # (E,)
    above = np.count_nonzero(scores > own[:, None], axis=1) - (of_source > own)
    level = np.count_nonzero(scores == own[:, None], axis=1) - (of_source == own) - 1
    return above + level / 2


def metric_aggregations() -> list[pl.Expr]:
    """Return aggregations of the columns rank_v and rank_u: number of events, MAR, HITS@k and MRR.

    Metrics are averaged over an event's two directions first, so each event counts once. HITS@k counts ranks
    0 to k − 1: a tie across the top-k boundary, whose mean rank is k − ½, is not a hit.
    """
    rank_v, rank_u = pl.col("rank_v").cast(pl.Float64), pl.col("rank_u").cast(pl.Float64)
    return [
        pl.len().cast(pl.Int64).alias("events"),
        ((rank_v + rank_u) / 2).mean().alias(MAR.name),
        *(
            (((rank_v <= k - 1).cast(pl.Float64) + (rank_u <= k - 1).cast(pl.Float64)) / 2)
            .mean()
            .alias(metric.name)
            for k, metric in HITS_AT.items()
        ),
        ((1 / (rank_v + 1) + 1 / (rank_u + 1)) / 2).mean().alias(MRR.name),
    ]


def ranked_events(trained: TrainedVariant, table: EventTable) -> pl.DataFrame:
    """Join a variant's rankings with their events; raise ValueError if communications are missing.

    If a training ranks only a sample of the communications, `ranked` in `model.json` holds the expected
    counts.
    """
    ranked = trained.read("rankings").join(with_history(table.events).drop("split"), on="idx", how="left")
    if ranked["kind"].null_count():
        raise ValueError(
            f"{trained.folder}/rankings.parquet ranks events the table does not have: train again"
        )
    expected = table.events.filter(pl.col("kind") == COMMUNICATION_KIND).group_by("split").len("expected")
    if "ranked" in trained.facts:
        counts = trained.facts["ranked"]
        expected = pl.DataFrame({"split": list(counts), "expected": list(counts.values())})
    counted = ranked.filter(pl.col("kind") == COMMUNICATION_KIND).group_by("seed", "split").len("ranked")
    short = counted.join(expected, on="split").filter(pl.col("ranked") != pl.col("expected"))
    if short.height:
        row = short.row(0, named=True)
        raise ValueError(
            f"{trained.folder}/rankings.parquet has {row['ranked']:,} of {row['expected']:,} "
            f"{row['split']} communications for seed {row['seed']}: train again"
        )
    return ranked


def with_history(events: pl.DataFrame) -> pl.DataFrame:
    """Add `pair`: whether an earlier event of any kind and direction joined the two nodes."""
    low, high = pl.min_horizontal("u", "v"), pl.max_horizontal("u", "v")
    first = pl.col("idx").min().over(low, high)
    return events.with_columns(
        pair=pl.when(pl.col("idx") > first).then(pl.lit(SEEN)).otherwise(pl.lit(NEVER_SEEN))
    )


def slot_length(first: datetime, last: datetime) -> timedelta:
    """Return the shortest round length that divides `first` to `last` into at most ten slots."""
    for length in SHORT_SLOTS:
        if slot_number(last, slot_origin(first, length), length) < MOST_SLOTS:
            return length
    origin = slot_origin(first, timedelta(days=1))
    return timedelta(days=(last - origin) // (MOST_SLOTS * timedelta(days=1)) + 1)


def slot_origin(first: datetime, length: timedelta) -> datetime:
    """Return the start of the first slot: `first` rounded down to `length`, or to midnight for whole days."""
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (first - midnight) // length * length if length < timedelta(days=1) else midnight


def slot_number(moment: datetime, origin: datetime, length: timedelta) -> int:
    """Return the 0-based index of the slot that contains a moment."""
    return (moment - origin) // length


def by_slot(ranked: pl.DataFrame, table: EventTable) -> pl.DataFrame:
    """Aggregate metrics of the test communications per time slot; empty slots have no row."""
    times = table.events.filter(pl.col("split") == TEST)["created_at"]
    first, last = times.min(), times.max()
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    length = slot_length(first, last)
    origin = slot_origin(first, length)
    microseconds = length // timedelta(microseconds=1)
    since = (pl.col("created_at") - origin).dt.total_microseconds()
    return (
        ranked.filter(pl.col("split") == TEST, pl.col("kind") == COMMUNICATION_KIND)
        .with_columns(
            slot_start=pl.lit(origin, TIME) + pl.duration(microseconds=since // microseconds * microseconds)
        )
        .group_by("seed", "split", "slot_start")
        .agg(metric_aggregations())
        .with_columns(slot_end=pl.col("slot_start") + length)
        .sort("seed", "slot_start")
    )


def by_group(ranked: pl.DataFrame) -> pl.DataFrame:
    """Aggregate metrics per kind and type of event and, for communications, per seen or never-seen pair."""
    groupings = {
        "kind": ranked,
        "type": ranked,
        "pair": ranked.filter(pl.col("kind") == COMMUNICATION_KIND),
    }
    return pl.concat(
        rows.group_by("seed", "split", pl.col(grouping).alias("value"))
        .agg(metric_aggregations())
        .with_columns(grouping=pl.lit(grouping))
        .sort("seed", "split", "value")
        for grouping, rows in groupings.items()
    )


def link_prediction(lake: Lake) -> dict[str, pl.DataFrame]:
    """Return the tables `link_prediction`, `…_by_slot` and `…_by_group` of all trained variants, by name."""
    tables = (LINK_PREDICTION, LINK_PREDICTION_BY_SLOT, LINK_PREDICTION_BY_GROUP)
    parts: dict[str, list[pl.DataFrame]] = {table.name: [] for table in tables}
    for dataset in dataset_names(lake):
        events = read_event_table(lake.dataset(dataset))
        for trained in current_variants(lake, dataset):
            ranked = ranked_events(trained, events)
            for table, rows in zip(
                tables, (by_split(ranked), by_slot(ranked, events), by_group(ranked)), strict=True
            ):
                by_role = pl.lit(trained.facts.get("by_role", False))
                parts[table.name].append(trained.named(rows.with_columns(by_role=by_role), table))
    return {table.name: stacked(parts[table.name], table) for table in tables}


def by_split(ranked: pl.DataFrame) -> pl.DataFrame:
    """Aggregate metrics of the communications per seed and split."""
    communications = ranked.filter(pl.col("kind") == COMMUNICATION_KIND)
    return communications.group_by("seed", "split").agg(metric_aggregations()).sort("seed", "split")


def training_curves(lake: Lake) -> pl.DataFrame:
    """Return the table `training_curves` of all trained variants."""
    return stacked(
        (
            trained.named(trained.read("curves"), TRAINING_CURVES)
            for dataset in dataset_names(lake)
            for trained in current_variants(lake, dataset)
        ),
        TRAINING_CURVES,
    )


def write_link_prediction(lake: Lake) -> dict[str, int]:
    """Write the three link prediction tables under `results/` and return their row counts by table name."""
    return write_results(lake, link_prediction(lake))


def write_training_curves(lake: Lake) -> dict[str, int]:
    """Write `results/training_curves.parquet` and return its row count by table name."""
    return write_results(lake, {TRAINING_CURVES.name: training_curves(lake)})
