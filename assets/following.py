"""Following as one thing to do: bring the days, follow them, show them in the warehouse."""

from collections.abc import Callable
from datetime import date, datetime

from pipeline.cluster.run import run_task
from pipeline.cluster.task import Task
from pipeline.following.bring import bring
from pipeline.following.record import DayRecord, asked_start, followed_days
from pipeline.following.rule import follow_rule
from pipeline.following.window import DAY, Window, window_until
from pipeline.settings import Settings
from pipeline.sources.gharchive.source import event_rules, fetch_settings


def days_needed(settings: Settings, last: date, first: date | None) -> Window:
    """The days that must be in the lake to follow up to `last`: the first window, and all since."""
    followed, asked = followed_days(settings.lake), asked_start(settings.lake)
    begun = followed[:1] or ([] if asked is None else [asked])
    start = min([*begun, last if first is None else first - DAY])
    return Window(window_until(start, settings.follow_days).first, last)


def follow_archive(
    settings: Settings,
    last: date,
    first: date | None = None,
    log: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> list[DayRecord]:
    """Bring what is needed of the archive, follow up to `last`, and show what was made in the warehouse."""
    from model.following.day import follow_until
    from pipeline.results.warehouse import build_warehouse

    lake, rule = settings.lake, follow_rule(settings)  # refused before days are brought, not after
    bring(
        lake,
        days_needed(settings, last, first),
        fetch_settings(settings),
        event_rules(settings),
        keep_raw=settings.follow_keep_raw,
        now=now,
        log=log,
        cluster=settings.cluster,
    )
    task = Task(f"following up to {last}", follow_until, (rule, last, first))
    records = run_task(task, lake, settings.cluster, log)
    if records:
        build_warehouse(lake)
    return records
