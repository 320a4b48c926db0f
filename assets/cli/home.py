"""What every command asks for first: the settings in force, on a home that is fit for use."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pipeline.event_table import EventTable
    from pipeline.lake import Lake
    from pipeline.settings import Settings


SEEDS = click.option("--seeds", metavar="N", help="Trainings of each model; takes precedence over LDG_SEEDS.")
EPOCHS = click.option(
    "--epochs",
    metavar="N",
    help="Passes over the training events, of the paper's models alone; takes precedence over LDG_EPOCHS.",
)


class WrongInputError(click.ClickException):
    """Something the user gave is wrong; the message says what to give instead."""

    exit_code = 2


def unwritable(argument: str, path: Path, error: OSError) -> WrongInputError:
    """Describe a path the user gave where nothing can be written."""
    return WrongInputError(
        f"{argument} is '{path}', where nothing can be written ({error.strerror}); give another path"
    )


def home_to_write() -> "Settings":
    """The settings, on a home that can be written to; says which last day lies in the future."""
    from pipeline.settings import Settings

    settings = Settings.load()
    settings.make_home()
    warn(settings.still_to_come())
    return settings


def warn(sentences: Iterable[str]) -> None:
    """Print warnings to standard error."""
    for sentence in sentences:
        click.echo(f"Warning: {sentence}", err=True)


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
    from pipeline.text import suggest_name

    if dataset not in dataset_names(lake):
        built = ", ".join(dataset_names(lake)) or "none"
        raise WrongInputError(
            f"there is no event table of {dataset!r} in {lake.home}; there is {built}"
            f"{suggest_name(dataset, dataset_names(lake))}"
        )
    return read_event_table(lake.dataset(dataset))
