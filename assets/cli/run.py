"""`ldg run`: everything of a home."""

import click

from assets.cli.home import home_to_write


@click.command(short_help="Make everything of this home.")
def run() -> None:
    """Make everything of this home: raw files, event tables, trainings, results; then print the tables.

    What is finished is not made again. LDG_DATASETS and LDG_VARIANTS choose what is worked on.
    """
    settings = home_to_write()
    from assets.headless.run import main

    main(settings)
