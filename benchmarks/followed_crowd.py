"""A crowd that is followed: one day scored, learned on and forecast, in a network of any size.

People do ten things each in ninety days (`benchmarks.crowd`). A model is trained on the days before in a
process of its own, so that the peak memory of the day is the day's.
"""

import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from benchmarks.crowd import START, TYPE_SHARES, TYPES, crowd
from benchmarks.measure import Measured, alone, peak, size_of
from model.following.day import Chain
from model.following.families import family_of
from model.following.follower import Family
from model.following.lane import Lane
from model.following.paper import PaperFamily
from model.following.rem import RemFamily
from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from model.stream import ASSOCIATION
from pipeline.following.choice import PEOPLE, Choice
from pipeline.following.digest import digest_of
from pipeline.following.events import FOLLOWED_EVENTS, FollowedDays
from pipeline.following.record import DayRecord
from pipeline.following.rule import JUDGED_DAYS, FollowRule
from pipeline.following.window import DAY, Window
from pipeline.lake import Lake

EVENTS_EACH = 10
DAYS = 82  # that are learned from before the measured day
FIRST = START.date()
MEASURED_DAY = FIRST + DAYS * DAY
# The week that chooses an epoch begins with the measured day, but there is only one epoch to choose.
WINDOW = Window(FIRST, MEASURED_DAY + (JUDGED_DAYS - 1) * DAY)


def lane_of(home: Path, nodes: int, variant: str) -> Lane:
    """The lane of a crowd of `nodes`, whose days are made up instead of read."""
    made = crowd(nodes, EVENTS_EACH * nodes)
    types = np.random.default_rng(1).choice(len(TYPES), len(made.u), p=TYPE_SHARES)
    rows = pl.DataFrame(
        {
            "u": made.u,
            "v": made.v,
            "type": pl.Series(TYPES)[types],
            "kind": np.where(made.k == ASSOCIATION, "association", "communication"),
            "created_at": START + pl.Series((made.seconds * 1e6).astype(np.int64)).cast(pl.Duration("us")),
        }
    ).select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())
    dated = rows.with_columns(day=pl.col("created_at").dt.date())
    by_day = dated.partition_by("day", as_dict=True, include_key=False)
    people = pl.DataFrame(
        [(node, f"node {node}", "made up") for node in range(nodes)], schema=PEOPLE, orient="row"
    )
    days = {day: (by_day[(day,)], digest_of([str(day)])) for day in WINDOW}
    followed = FollowedDays(Lake(home), Choice(WINDOW, people, {}), days)
    return Lane(followed, variant, with_one_epoch(family_of(variant)))


def with_one_epoch(family: Family) -> Family:
    """The family whose trainings pass once over their events."""
    if isinstance(family, RemFamily):
        return RemFamily(family.variant, RemSettings(seeds=(0,), epochs=1))
    assert isinstance(family, PaperFamily)
    return PaperFamily(family.variant, TrainingSettings(seeds=(0,), epochs=1))


def train(home: Path, nodes: int, variant: str) -> None:
    """Leave the snapshot of the day before the measured one."""
    lane_of(home, nodes, variant).at(MEASURED_DAY - DAY)


def followed_day(variant: str, nodes: int) -> Measured:
    """One day of a crowd of `nodes`: seconds of processor, peak memory, bytes of what is kept of it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        alone(train, home, nodes, variant)
        before = size_of(home)
        lane = lane_of(home, nodes, variant)
        chosen_on = lane.choice.chosen_on
        yesterday = DayRecord(MEASURED_DAY - DAY, "", chosen_on, None, 0, 0.0)
        chain = Chain(
            lane.lake, FollowRule(nodes=nodes), chosen_on, None, {chosen_on: lane.choice}, {chosen_on: [lane]}
        )
        started = process_time()
        chain.make(MEASURED_DAY, yesterday)
        return {
            "seconds": process_time() - started,
            "peak bytes": peak(),
            "kept bytes": size_of(home) - before,
        }
