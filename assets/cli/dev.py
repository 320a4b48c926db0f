"""`ldg dev`: the UI."""

import os
import sys

import click

from assets.cli.home import home_to_write


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def dev(port: int) -> None:
    """Serve Dagster's UI for this home on 127.0.0.1."""
    settings = home_to_write()
    from assets.store import PROJECT, dagster_environment
    from pipeline.settings import PREFIX, SHELL_NAMES

    # Every process of the UI reads the home's settings itself; dagster.yaml says where a home keeps its runs.
    os.environ |= dagster_environment(settings)
    os.environ[SHELL_NAMES] = ",".join(name for name in os.environ if name.startswith(PREFIX))
    os.chdir(PROJECT)
    command = [sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", str(port)]
    os.execv(sys.executable, command)  # noqa: S606 - this interpreter, and a number of our own
