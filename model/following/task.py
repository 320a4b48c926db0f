"""Following as a task: any process that sees the home can do it."""

from datetime import date

from model.following.day import follow_until
from pipeline.cluster.task import Task
from pipeline.following.record import DayRecord
from pipeline.following.rule import FollowRule


def follow_task(rule: FollowRule, last: date, first: date | None = None) -> Task[list[DayRecord]]:
    """Follow up to `last`, from `first` on if nothing is followed yet; it returns the days made now."""
    return Task(f"following up to {last}", follow_until, (rule, last, first))
