"""What a model must do to follow an archive."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from pipeline.following.outlook import Outlook
from pipeline.following.window import Window
from pipeline.rem_variants import RemVariant
from pipeline.results.pairs import Pairs
from pipeline.variants import Variant

Log = Callable[[str], None]
MOST_LEARNED = 40_000  # the latest events of a window that weights learn from; all move the state
MOST_MEASURED = 1_000  # events that an epoch is chosen on


class Follower(Protocol):
    """A model of N people that has read every event up to some day.

    Events are frames with u, v, type, kind and created_at, in order of time, of one or more whole days.
    """

    def rank(self, events: pl.DataFrame, positions: np.ndarray) -> pl.DataFrame:
        """Rank those at `positions`, the state moving on with each event and the weights still.

        Gives position, rank_v, rank_u, and log_score: the mean log probability of the true partner in both
        directions. The model stays as it was.
        """
        ...

    def learn(self, events: pl.DataFrame, day: date) -> None:
        """Learn on through the next day: its events enter the state, and the weights follow."""
        ...

    def outlook(self, as_of: datetime, also: Pairs) -> Outlook:
        """log λ of every ordered pair at a moment from the last event on; in a large network of some pairs
        that stand for all, with each of `also` for itself.
        """
        ...

    def intensities(self, node: int, as_of: datetime, *, acts: bool) -> np.ndarray:
        """log λ at that moment of `node` acting on everyone, or of everyone acting on it: (N)."""
        ...

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write everything that a further day goes on from, with a header of the caller's."""
        ...


class Family(Protocol):
    """How followers of one kind of model come to be."""

    @property
    def variant(self) -> Variant | RemVariant:
        """Which of the kind it is."""
        ...

    def identity(self) -> dict[str, Any]:
        """What makes two of them the same: variant, settings, version."""
        ...

    def train(
        self, window: Window, nodes: int, past: pl.DataFrame, judged: pl.DataFrame, log: Log | None
    ) -> tuple[Follower, dict[str, Any]]:
        """One that learned `past`, the epoch chosen on `judged`, and what `trainings` tells of it."""
        ...

    def load(self, path: Path) -> tuple[Follower, dict[str, Any]]:
        """The one that was saved, and its header."""
        ...
