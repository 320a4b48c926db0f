"""`ldg store`: what Dagster keeps of a home, brought from SQLite to PostgreSQL or up to date."""

import click

from assets.cli.home import WrongInputError, home_to_write


@click.group(short_help="Run history: into PostgreSQL, or up to date.")
def store() -> None:
    """Look after the runs, events and schedules that Dagster keeps of this home."""


@store.command(short_help="Copy the run history of this home into PostgreSQL.")
def migrate() -> None:
    """Copy this home's run history from its SQLite files into the empty database that LDG_STORE names.

    Stop `ldg dev` and other services first. The files stay as they are.
    """
    settings = home_to_write()
    if not settings.store:
        raise WrongInputError(
            "LDG_STORE names no database; it takes postgresql://user:password@host/database"
        )
    from assets.headless.lock import alone
    from assets.store.migrate import MigrationError, migrate_history

    try:
        with alone(settings, click.echo):
            copied = migrate_history(settings)
    except MigrationError as error:
        raise WrongInputError(str(error)) from None
    click.echo(f"Copied {copied.runs:,} runs with {copied.events:,} events.")


@store.command(short_help="Bring the store up to the installed version of Dagster.")
def upgrade() -> None:
    """Bring the tables of the store up to the installed version of Dagster. Make a backup first."""
    settings = home_to_write()
    from assets.headless.instance import instance_of

    with instance_of(settings) as instance:
        instance.upgrade(click.echo)
        instance.reindex(click.echo)
