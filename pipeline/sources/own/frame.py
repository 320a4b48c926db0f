"""Event tables from Polars or pandas frames, built by the same rules as those of a `dataset.toml`."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from pipeline.event_table import write_event_table
from pipeline.names import ASSOCIATION_KIND, COMMUNICATION_KIND
from pipeline.sources.own.dataset_toml import DatasetToml, Events, Kinds, OwnDataError, TestPeriod
from pipeline.sources.own.table import assemble_table
from pipeline.sources.own.times import TimesError, moments

TRAINED_SHARE = 0.8  # of the events precede the test period if no test_start is given


class Frame(Protocol):
    """A Polars or pandas frame; pandas is not imported."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - a list or a pandas Index
        """Return the names of the columns."""

    def __getitem__(self, columns: list[str], /) -> Any:  # noqa: ANN401 - a frame
        """Return the named columns as a frame."""


def event_table_from_frame(
    events: Frame,
    folder: Path | str,
    *,
    source: str = "source",
    target: str = "target",
    time: str = "time",
    type: str | None = None,  # noqa: A002 - as `dataset.toml` calls it
    associations: Sequence[str] = (),
    test_start: date | None = None,
) -> Path:
    """Write the events of a Polars or pandas frame as an event table into `folder`, and return the folder.

    `source`, `target`, `time` and `type` name columns; the table is called after the folder. Times without a
    zone are UTC. Events of the types in `associations` form lasting ties, all others are communications.
    `test_start`, a day or a time in UTC, begins the test period; without it, the last fifth of the events is
    tested on. Rows without a source or target and self-loops are left out and counted in `dataset.json`.
    """
    columns = {"source": source, "target": target, "time": time} | ({} if type is None else {"type": type})
    rows = read_frame(events, columns)
    try:
        created_at = moments(rows["time"], None, "UTC")
    except TimesError as error:
        row = "" if error.row is None else f" row {error.row + 1}"
        raise OwnDataError(f"column {time!r}{row} {error}") from None
    if type is None:
        rows = rows.with_columns(type=pl.lit("Communication"))
    if rows["type"].null_count():
        raise OwnDataError(f"column {type!r} has empty values; it takes a type in every row")
    types = rows["type"].unique().sort().to_list()
    if absent := [kind for kind in associations if kind not in types]:
        raise OwnDataError(f"associations names {absent[0]!r}, which no event is; the types are {types}")
    is_association = pl.col("type").is_in(list(associations))
    kind = pl.when(is_association).then(pl.lit(ASSOCIATION_KIND)).otherwise(pl.lit(COMMUNICATION_KIND))
    rows = rows.select("source", "target", "type", kind=kind, created_at=created_at)
    if test_start is None:
        test_start = created_at.sort()[int(TRAINED_SHARE * len(created_at))]
    keys = DatasetToml(
        events=Events(file=Path(), type=type),
        kinds=Kinds(association=tuple(associations)),
        split=TestPeriod(test_start),
    )
    folder = Path(folder)
    names = pl.concat([rows["source"], rows["target"]]).drop_nulls().unique().sort().to_list()
    write_event_table(assemble_table(folder.name, keys, folder.name, rows, {}, names), folder)
    return folder


def read_frame(frame: Frame, columns: dict[str, str]) -> pl.DataFrame:
    """Read the wanted columns of `frame` under our names: text, except for the time."""
    if absent := [column for column in columns.values() if column not in frame.columns]:
        raise OwnDataError(
            f"the frame has no column {absent[0]!r}; it has {', '.join(map(repr, frame.columns))}"
        )
    if not isinstance(frame, pl.DataFrame):
        frame = pl.from_pandas(frame[list(columns.values())])
    if frame.is_empty():
        raise OwnDataError("the frame has no rows; it takes one row per event")
    return frame.select(
        pl.col(column).alias(key) if key == "time" else pl.col(column).cast(pl.String).alias(key)
        for key, column in columns.items()
    )
