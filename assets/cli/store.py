"""`ldg store`: maintenance of Dagster's run storage."""

import click

from assets.cli.home import WrongInputError, home_to_write


@click.group(short_help="Run history: brought up to date.")
def store() -> None:
    """Maintain the store of this home's runs, events and schedules in Dagster."""


@store.command(hidden=True)
def migrate() -> None:
    """Refuse: run history is no longer copied between stores."""
    raise WrongInputError(
        "`ldg store migrate` was removed: run history stays in the SQLite files of the home, and a "
        "PostgreSQL store keeps new runs only"
    )


@store.command(short_help="Bring the store up to the installed version of Dagster.")
def upgrade() -> None:
    """Migrate the store's tables to the installed version of Dagster. Make a backup first."""
    settings = home_to_write()
    from assets.headless.instance import instance_of

    with instance_of(settings) as instance:
        instance.upgrade(click.echo)
        instance.reindex(click.echo)
