"""`ldg report`: the HTML report of a home."""

import click

from assets.cli.home import WrongInputError, home_to_read


@click.command(short_help="Write the report anew.")
def report() -> None:
    """Rewrite this home's report from its warehouse, figures and trained models."""
    settings = home_to_read()
    from pipeline.show.report import write_report

    if not settings.lake.warehouse.exists():
        raise WrongInputError(f"{settings.lake.warehouse} is not there: `ldg run` makes it")
    click.echo(f"Report: {write_report(settings.lake)}")
