"""`ldg follow`: forecasts made today, scored tomorrow."""

from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from pipeline.following.record import DayRecord
    from pipeline.settings import Settings


@click.command(short_help="Follow the archive: forecast, score, learn on, day by day.")
@click.option("--from", "first", type=click.DateTime(["%Y-%m-%d"]), help="Follow from this day on.")
@click.option(
    "--to", "last", type=click.DateTime(["%Y-%m-%d"]), help="Up to this day; without it, yesterday."
)
def follow(first: datetime | None, last: datetime | None) -> None:
    """Bring the archive's days up to the newest complete one, and follow those not followed yet.

    The first time, the people worth following are found in the days before, and the models trained on them.
    With --from, a past stretch is replayed as if it had been lived, so that there is a track record at once.
    """
    settings = home_to_write()
    from pipeline.following.window import newest_complete_day

    newest = newest_complete_day()
    until = last.date() if last else newest
    if until > newest:
        raise WrongInputError(f"--to is {until}, which is not over; the newest complete day is {newest}")
    if first and first.date() > until:
        raise WrongInputError(f"--from is {first.date()}, after the last day, {until}")
    records = follow_archive(settings, until, first.date() if first else None, _say)
    click.echo(_summary(records, until))


def follow_archive(
    settings: "Settings", last: date, first: date | None, log: Callable[[str], None]
) -> "list[DayRecord]":
    """Bring what is needed of the archive, follow up to `last`, and show what was made in the warehouse."""
    from model.following.task import follow_task
    from pipeline.cluster.run import run_task
    from pipeline.following.archive_days import days_needed
    from pipeline.following.bring import bring_as_set
    from pipeline.following.rule_of_settings import follow_rule
    from pipeline.results.warehouse import build_warehouse

    lake, rule = settings.lake, follow_rule(settings)  # refused before days are brought, not after
    bring_as_set(settings, days_needed(settings, last, first), log=log)
    records = run_task(follow_task(rule, last, first), lake, settings.cluster, log)
    if records:
        build_warehouse(lake)
    return records


def _say(line: str) -> None:
    click.echo(line, err=True)


def _summary(records: "list[DayRecord]", until: date) -> str:
    """What was done, in a line."""
    if not records:
        return f"Followed up to {until} already; nothing changed"
    return f"Followed {records[0].day} to {records[-1].day}; `ldg forecast NAME` says who is next"
