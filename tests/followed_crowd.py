"""A crowd that is followed, in a network of any size: people with ten events each (`benchmarks.crowd`), and a
model that has read the days before one day with its initial weights.
"""

from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.crowd import START, TYPE_SHARES, TYPES, crowd
from model.following.lane import Lane, Model
from model.following.rem import RemFamily, RemFollower, family_of
from model.history.events import frequent_types, seconds_of_day, seconds_of_week
from model.history.state import new_history
from model.rem.learning import new_fit
from model.stream import ASSOCIATION
from pipeline.following.chance import Chance
from pipeline.following.choice import PEOPLE, Choice
from pipeline.following.digest import digest_of
from pipeline.following.events import FOLLOWED_EVENTS, FollowedDays
from pipeline.following.rule import JUDGED_DAYS
from pipeline.following.scores import happened
from pipeline.following.window import DAY, Window, file_day_span
from pipeline.lake import Lake

EVENTS_EACH = 10
DAYS = 82  # that are learned from before the measured day
FIRST = START.date()
MEASURED_DAY = FIRST + DAYS * DAY
# A training ends so many days before its window does: this one before the measured day.
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
    return Lane(followed, variant, family_of(variant))


def prepare(home: Path, nodes: int, variant: str) -> None:
    """Leave the snapshot of the day before the measured one."""
    lane = lane_of(home, nodes, variant)
    past, _ = lane.days.between(WINDOW.first, lane.trained_until)
    chance = Chance.new(nodes)
    for day in Window(WINDOW.first, lane.trained_until):
        chance.remember(happened(lane.days.of(day)[0], nodes))
    lane.store(Model(lane.trained_until, untrained(lane.family, nodes, past), chance))


def untrained(family: RemFamily, nodes: int, past: pl.DataFrame) -> RemFollower:
    """A follower that has read `past` and learned nothing."""
    begin = file_day_span(WINDOW.first)[0]
    types = frequent_types(past)
    history = new_history(nodes, len(types), seconds_of_day(begin), seconds_of_week(begin))
    follower = RemFollower(family, begin, types, new_fit(family.layout(types), family.settings), history)
    follower.standardize(past)
    reading = follower.renumber_and_begin_pass(past, history)
    reading.skip(past.height)
    follower.history = reading.history
    return follower
