"""`ldg dev`: the UI."""

import click

from assets.cli.serve import become_dagster


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def dev(port: int) -> None:
    """Serve Dagster's UI for this home on 127.0.0.1."""
    become_dagster("assets.code_server", "dev", "--host", "127.0.0.1", "--port", str(port))
