"""Day after day: score yesterday's forecast, learn on, forecast; replay where data changed."""

from collections.abc import Callable
from datetime import date

from pipeline.following.record import DayRecord
from pipeline.following.rule import FollowRule
from pipeline.lake import Lake
from pipeline.sources.gharchive.normalize import EventRules

Log = Callable[[str], None]


def follow_until(
    lake: Lake,
    rule: FollowRule,
    rules: EventRules,
    last: date,
    first: date | None = None,
    log: Log | None = None,
) -> list[DayRecord]:
    """Follow every day up to `last`, whose events are in the lake; return the days made now, in order.

    Without anything followed yet, the day before `first` (or `last` itself) is where it starts: people are
    chosen from the window that ends with it, the models are trained on it, and the first forecast is made as
    of its end. Days that are whole and whose data did not change are not made again. Where a day of the last
    14 changed, it and the days after it are made anew, from the snapshot before it.
    """
    raise NotImplementedError


def follow_day(
    lake: Lake, rule: FollowRule, rules: EventRules, day: date, log: Log | None = None
) -> DayRecord:
    """Score, learn on and forecast for one day; the day before must be whole."""
    raise NotImplementedError
