"""What every command asks for first: the settings in force, on a home that is fit for use."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pipeline.event_table import EventTable
    from pipeline.lake import Lake
    from pipeline.settings import Settings


class WrongInputError(click.ClickException):
    """Something the user gave is wrong; the message says what to give instead."""

    exit_code = 2


def home_to_write() -> "Settings":
    """The settings, on a home that can be written to; says which last day lies in the future."""
    from pipeline.settings import Settings

    settings = Settings.load()
    settings.make_home()
    for sentence in settings.still_to_come():
        click.echo(f"Warning: {sentence}", err=True)
    return settings


def home_to_read() -> "Settings":
    """The settings, on a home that is there."""
    from pipeline.settings import Settings

    settings = Settings.load()
    if not settings.home.is_dir():
        raise WrongInputError(
            f"LDG_HOME is '{settings.home}', which is no folder; `ldg run` makes what is read there"
        )
    return settings


def stored_table(lake: "Lake", dataset: str) -> "EventTable":
    """The event table of a dataset that the user named."""
    from pipeline.event_table import dataset_names, read_event_table

    if dataset not in dataset_names(lake):
        built = ", ".join(dataset_names(lake)) or "none"
        raise WrongInputError(f"there is no event table of {dataset!r} in {lake.home}; there is {built}")
    return read_event_table(lake.dataset(dataset))
