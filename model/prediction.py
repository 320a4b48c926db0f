"""The result of a forecast, as a frame or as printable text."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from pipeline.results.predictions import along
from pipeline.text import duration, printable

NEAR_UNIFORM = 1.5  # times the uniform probability; below this maximum, a forecast is called nearly uniform


@dataclass(frozen=True, repr=False, eq=False)
class Prediction:
    """The likeliest partners of a node's next communication, the likeliest first.

    `print` shows one line per partner: rank, probability, name and, for a relational-event model, expected
    time and reason. The sentences in `notes` concern the whole forecast and are printed last.
    """

    node: str  # the source node's name
    partners: pl.DataFrame
    notes: tuple[str, ...] = ()

    def frame(self) -> pl.DataFrame:
        """Return the partners as a frame: `partner` (a name), `node` (its number), `probability`.

        Relational-event models add `why`, `contributions`, `edge_type`, `within_day` and `expected_days`.
        """
        return self.partners

    def __repr__(self) -> str:
        lines = []
        for rank, row in enumerate(self.partners.iter_rows(named=True), start=1):
            reason = f"  ({along(row['why'], row['edge_type'])})" if "why" in row else ""
            times = expected_time(row.get("within_day"), row.get("expected_days"))
            lines.append(f"{rank:>4}  {row['probability']:>7.1%}  {printable(row['partner'])}{times}{reason}")
        return "\n".join([*lines, *self.notes])


def expected_time(within_day: float | None, expected_days: float | None) -> str:
    """Format the expected time of an event; an empty string if the model gives none."""
    if within_day is None or expected_days is None:
        return ""
    when = f"{expected_days:.0f} days" if expected_days >= 2 else f"{24 * expected_days:.0f} h"
    return f", {within_day:.0%} within a day, expected in {when}"


def uniform_note(probabilities: np.ndarray) -> tuple[str, ...]:
    """Return a note if the highest of `probabilities` is close to uniform, else an empty tuple."""
    candidates = len(probabilities)
    if candidates < 2 or probabilities.max() >= NEAR_UNIFORM / candidates:
        return ()
    return (
        "The model expects no partner much more than any other: "
        f"a uniform forecast would give each {100 / candidates:.2g}%.",
    )


def late_note(at: datetime | None, last_event: datetime | None) -> tuple[str, ...]:
    """Return a note if `at` is after the last event, else an empty tuple."""
    if at is None or last_event is None or at <= last_event:
        return ()
    elapsed = at - last_event
    span = f"{elapsed.days:,} days" if elapsed >= timedelta(days=2) else duration(elapsed.total_seconds())
    return (
        f"{at} is beyond the end of the data, {span} after the last event ({last_event:%Y-%m-%d %H:%M:%S}): "
        "the model knows nothing of the time between.",
    )
