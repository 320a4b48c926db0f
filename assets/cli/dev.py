"""`ldg dev`: the UI."""

import os
import sys
from pathlib import Path

import click

from assets.cli.home import home_to_write

PROJECT = Path(__file__).parents[2]


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def dev(port: int) -> None:
    """Serve Dagster's UI for this home on 127.0.0.1."""
    settings = home_to_write()
    storage = settings.home.resolve() / "dagster"
    storage.mkdir(exist_ok=True)
    # Every process of the UI reads the home's settings itself; dagster.yaml says where a home keeps its runs.
    os.environ |= {
        "DAGSTER_HOME": str(PROJECT),
        "LDG_DAGSTER_STORAGE": str(storage),
        "LDG_HOME": str(settings.home.resolve()),
    }
    os.chdir(PROJECT)
    command = [sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", str(port)]
    os.execv(sys.executable, command)  # noqa: S606 - this interpreter, and a number of our own
