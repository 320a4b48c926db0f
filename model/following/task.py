"""Following as a task: any process with access to the home can run it."""

from datetime import date

from model.following.day import follow_until
from pipeline.cluster.task import Task
from pipeline.following.record import DayRecord
from pipeline.following.rule import FollowRule


def follow_task(rule: FollowRule, last: date, first: date | None = None) -> Task[list[DayRecord]]:
    """Return the task of following up to `last` (see `follow_until`); it returns the processed days."""
    return Task(f"following up to {last}", follow_until, (rule, last, first))
