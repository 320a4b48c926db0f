"""Settings, home checks and errors that the commands share."""

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
    """An error in the user's input (exit code 2); the message says what to give instead."""

    exit_code = 2


def unwritable(argument: str, path: Path, error: OSError) -> WrongInputError:
    """Return the error for a path of the user that cannot be written to."""
    return WrongInputError(
        f"{argument} is '{path}', where nothing can be written ({error.strerror}); give another path"
    )


def home_to_write() -> "Settings":
    """Load the settings, create the home if needed, and warn about last days in the future."""
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
    """Load the settings; raise WrongInputError if the home does not exist."""
    from pipeline.settings import Settings

    settings = Settings.load()
    if not settings.home.is_dir():
        raise WrongInputError(
            f"LDG_HOME is '{settings.home}', which is no folder; `ldg run` makes what is read there"
        )
    return settings


def stored_table(lake: "Lake", dataset: str) -> "EventTable":
    """Read the event table of a dataset; raise WrongInputError if there is none of this name."""
    from pipeline.event_table import dataset_names, read_event_table
    from pipeline.text import suggest_name

    if dataset not in dataset_names(lake):
        built = ", ".join(dataset_names(lake)) or "none"
        raise WrongInputError(
            f"there is no event table of {dataset!r} in {lake.home}; there is {built}"
            f"{suggest_name(dataset, dataset_names(lake))}"
        )
    return read_event_table(lake.dataset(dataset))
