"""`ldg serve`: one of the services that together are the UI, for a machine that runs them by itself."""

import os
import sys

import click

from assets.cli.home import home_to_write

PORT = click.IntRange(1, 65535)
CODE_HOST, CODE_PORT = "127.0.0.1", 4266
WORKSPACE = "deploy/workspace.yaml"


@click.group(short_help="One service of the UI, for systemd or compose.")
def serve() -> None:
    """Run one service of the UI on this home; docs/operations.md has systemd units and a compose file.

    `ldg dev` is all of them at once. Here each may end and be started again without the others.
    """


code_host = click.option("--code-host", default=CODE_HOST, show_default=True, help="Where `serve code` is.")
code_port = click.option("--code-port", type=PORT, default=CODE_PORT, show_default=True, help="Its port.")


@serve.command(short_help="The code server: assets, and the runs of them.")
@click.option("--host", default=CODE_HOST, show_default=True)
@click.option("--port", type=PORT, default=CODE_PORT, show_default=True)
def code(host: str, port: int) -> None:
    """Serve the assets to the other two services, and run what they start."""
    address = ("-h", host, "-p", str(port))
    become_dagster("assets.code_server", "code-server", "start", "-m", "assets.definitions", *address)


@serve.command(short_help="The pages and their API.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=3000, show_default=True)
@code_host
@code_port
def web(host: str, port: int, code_host: str, code_port: int) -> None:
    """Serve the pages. They have no password: open them to others only behind a proxy that asks for one."""
    tell_where_code_is(code_host, code_port)
    become_dagster("dagster_webserver", "-w", WORKSPACE, "-h", host, "-p", str(port))


@serve.command(short_help="Schedules, sensors, the queue of runs.")
@code_host
@code_port
def daemon(code_host: str, code_port: int) -> None:
    """Start what schedules, sensors, backfills and the queue of runs ask for."""
    tell_where_code_is(code_host, code_port)
    become_dagster("dagster._daemon", "run", "-w", WORKSPACE)


def tell_where_code_is(host: str, port: int) -> None:
    """For `deploy/workspace.yaml`, which asks for it."""
    os.environ |= {"DAGSTER_CODE_HOST": host, "DAGSTER_CODE_PORT": str(port)}


def become_dagster(module: str, *arguments: str) -> None:
    """Go on as this module of Dagster's, on the home of the settings.

    Every process of it reads the home's settings itself; dagster.yaml says where a home keeps its runs.
    """
    settings = home_to_write()
    from assets.dagster_home import PROJECT, dagster_environment
    from pipeline.settings import shell_to_remember

    os.environ |= dagster_environment(settings)
    os.environ |= shell_to_remember()
    os.chdir(PROJECT)
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - this interpreter
