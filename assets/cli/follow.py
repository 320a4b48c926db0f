"""`ldg follow`: daily forecasts of the archive, scored on the next day."""

from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from pipeline.following.record import DayRecord
    from pipeline.lake import Lake
    from pipeline.settings import Settings

DAY = click.DateTime(["%Y-%m-%d"])


@click.command(short_help="Follow the archive: forecast, score, learn on, day by day.")
@click.option("--from", "first", type=DAY, help="Follow from this day on.")
@click.option("--to", "last", type=DAY, help="Up to this day; without it, yesterday.")
@click.option(
    "--undo-from",
    "undone",
    type=DAY,
    help="Take back the followed days from this day on, and follow nothing.",
)
def follow(first: datetime | None, last: datetime | None, undone: datetime | None) -> None:
    """Download the archive's days up to the newest complete one, and follow the new ones.

    The first run selects the accounts to follow from the days before, and trains the models on them. With
    --from, past days are replayed as if they were live, which gives a track record at once. An archive in a
    folder is followed up to the newest day with an hour file.
    """
    if undone and (first or last):
        raise WrongInputError("--undo-from takes neither --from nor --to: run `ldg follow` again afterwards")
    settings = home_to_write()
    from pipeline.following.archive_days import end_of_archive, newest_day_to_follow
    from pipeline.following.record import followed_days
    from pipeline.following.window import newest_complete_day

    if undone:
        _undo(settings.lake, undone.date())
        return
    newest = newest_complete_day()
    until = last.date() if last else newest
    if until > newest:
        raise WrongInputError(f"--to is {until}, which is not over; the newest complete day is {newest}")
    if (end := newest_day_to_follow(settings, until)) < until:
        _say(end_of_archive(settings, end))
        until = end
        if beyond := [day for day in followed_days(settings.lake) if day > end]:
            _say(f"later days are followed: `ldg follow --undo-from {beyond[0]}` takes them back")
    if first and first.date() > until:
        raise WrongInputError(f"--from is {first.date()}, after the last day, {until}")
    records = follow_archive(settings, until, first.date() if first else None, _say)
    click.echo(_summary(records, until))


def follow_archive(
    settings: "Settings", last: date, first: date | None, log: Callable[[str], None]
) -> "list[DayRecord]":
    """Download the days needed, follow up to `last`, and update Dagster and the warehouse."""
    from model.following.task import follow_task
    from pipeline.cluster.run import run_task
    from pipeline.following.archive_days import days_needed
    from pipeline.following.bring import bring_as_set
    from pipeline.following.record import has_current_warehouse
    from pipeline.following.rule_of_settings import follow_rule
    from pipeline.results.warehouse import build_warehouse

    lake, rule = settings.lake, follow_rule(settings)  # fails before any download
    window = days_needed(settings, last, first)
    changed = bring_as_set(settings, window, log=log)
    records = run_task(follow_task(rule, last, first), lake, settings.cluster, log)
    if changed or records:
        # Importing Dagster takes seconds, which an idle day need not spend.
        from assets.lanes.following import report_followed

        report_followed(settings, window, changed, records)
    if not has_current_warehouse(lake):
        build_warehouse(lake)
        log(f"{lake.warehouse} is built from the followed days")
    return records


def _undo(lake: "Lake", first: date) -> None:
    """Delete the followed days from `first` on, and rebuild the warehouse without them."""
    from pipeline.following.record import followed_days, undo_days
    from pipeline.results.warehouse import build_warehouse

    try:
        undone = undo_days(lake, first, _say)
    except ValueError as error:
        raise WrongInputError(str(error)) from None
    build_warehouse(lake)
    left = followed_days(lake)
    rest = f"followed up to {left[-1]}" if left else "nothing is followed now"
    click.echo(f"Took back {undone[0]} to {undone[-1]}; {rest}")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _summary(records: "list[DayRecord]", until: date) -> str:
    """Return a one-line summary of the followed days."""
    if not records:
        return f"Followed up to {until} already; nothing changed"
    return f"Followed {records[0].day} to {records[-1].day}; `ldg forecast NAME` says who is next"
