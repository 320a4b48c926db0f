"""Event tables as input of the statistics, with event types and directed associations."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl

from model.history.own import OwnColumns, own_columns, own_statistics
from model.history.registry import Statistic, listed
from model.stream import Stream, load_stream
from pipeline.event_table import read_event_table
from pipeline.names import INITIAL, TRAIN

MOST_TYPES = 8


@dataclass(frozen=True)
class Events:
    """A stream, the type of each event, and the associations from before the first event."""

    stream: Stream
    types: tuple[str, ...]
    type: np.ndarray  # (T) int64, position in `types`
    ties: np.ndarray  # (M, 2) int64, directed
    day_offset: float
    week_offset: float
    own: OwnColumns | None = None


def statistics_of_events(events: Events) -> tuple[Statistic, ...]:
    """Return all statistics of a stream in the order written, those of own columns last."""
    own = () if events.own is None else own_statistics(events.own)
    return (*listed(len(events.types)), *own)


def load_events(folder: Path) -> Events:
    """Load the events of the table in `folder`. Types rare in training share the last type, `others`."""
    stream, table = load_stream(folder), read_event_table(folder)
    training = table.events.filter(pl.col("split") == TRAIN)["type"].value_counts()
    names = training.sort(["count", "type"], descending=[True, False])["type"].to_list()
    types = tuple(names) if len(names) < MOST_TYPES else (*names[: MOST_TYPES - 1], "others")
    place = {name: min(number, len(types) - 1) for number, name in enumerate(names)}
    own = table.metadata["own_relations"]
    ties = table.associations.filter(
        pl.col("relation").is_in(own), pl.col("snapshot") == INITIAL, pl.col("u") != pl.col("v")
    ).unique(["u", "v"], maintain_order=True)
    midnight = stream.start.replace(hour=0, minute=0, second=0, microsecond=0)
    day_offset = (stream.start - midnight).total_seconds()
    return Events(
        stream,
        types,
        np.array([place.get(name, len(types) - 1) for name in table.events["type"]], np.int64),
        ties.select("u", "v").to_numpy().astype(np.int64),
        day_offset,
        day_offset + stream.start.weekday() * 86_400.0,
        own_columns(table),
    )


def frequent_types(events: pl.DataFrame) -> tuple[str, ...]:
    """Return the most frequent event types, most frequent first, and a last one for all others."""
    counted = events["type"].value_counts().sort(["count", "type"], descending=[True, False])
    return (*counted["type"].to_list()[: MOST_TYPES - 1], "others")


def seconds_of_day(moment: datetime) -> float:
    """Return the seconds since midnight, from which the statistics derive an event's hour."""
    return (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()


def seconds_of_week(moment: datetime) -> float:
    """Return the seconds since Monday's midnight, from which the statistics derive the weekday."""
    return seconds_of_day(moment) + moment.weekday() * 86_400.0
