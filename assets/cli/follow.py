"""`ldg follow`: forecasts made today, scored tomorrow."""

from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from pipeline.following.record import DayRecord


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
    from assets.following import follow_archive

    records = follow_archive(settings, until, first.date() if first else None, _say)
    click.echo(_summary(records, until))


def _say(line: str) -> None:
    click.echo(line, err=True)


def _summary(records: "list[DayRecord]", until: date) -> str:
    """What was done, in a line."""
    if not records:
        return f"Followed up to {until} already; nothing changed"
    return f"Followed {records[0].day} to {records[-1].day}; `ldg forecast NAME` says who is next"
