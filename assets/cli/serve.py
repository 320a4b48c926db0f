"""`ldg serve`: the services of the UI one by one, for systemd or compose."""

import errno
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from pipeline.settings import Settings

PORT = click.IntRange(1, 65535)
CODE_HOST, CODE_PORT = "127.0.0.1", 4266


@click.group(short_help="One service of the UI, for systemd or compose.")
def serve() -> None:
    """Run one service of the UI on this home; docs/operations.md has systemd units and a compose file.

    `ldg dev` runs all of them at once. Services started here can be restarted independently.
    """


code_host = click.option("--code-host", default=CODE_HOST, show_default=True, help="Where `serve code` is.")
code_port = click.option("--code-port", type=PORT, default=CODE_PORT, show_default=True, help="Its port.")


@serve.command(short_help="The code server: assets, and the runs of them.")
@click.option("--host", default=CODE_HOST, show_default=True)
@click.option("--port", type=PORT, default=CODE_PORT, show_default=True)
def code(host: str, port: int) -> None:
    """Serve the assets to the web server and the daemon, and execute their runs."""
    settings = home_to_write()
    check_port(host, port)
    become(settings, code_command("--host", host, "--port", str(port)))


@serve.command(short_help="The pages and their API.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=3000, show_default=True)
@code_host
@code_port
def web(host: str, port: int, code_host: str, code_port: int) -> None:
    """Serve the UI and its API. They have no password: expose them only behind a proxy that asks for one.

    Requests for hosts that LDG_UI_HOSTS does not name, and cross-site requests, are refused.
    """
    settings = home_to_write()
    check_port(host, port)
    set_code_address(code_host, code_port)
    become(settings, web_command(workspace(), host, port))


@serve.command(short_help="Schedules, sensors, the queue of runs.")
@code_host
@code_port
def daemon(code_host: str, code_port: int) -> None:
    """Run schedules, sensors, backfills and the run queue."""
    settings = home_to_write()
    set_code_address(code_host, code_port)
    with hold_daemon_lock(settings, "ldg serve daemon") as lock:
        os.set_inheritable(lock, True)
        become(settings, daemon_command(workspace()))


def set_code_address(host: str, port: int) -> None:
    """Set the variables that the packaged workspace.yaml reads."""
    os.environ |= {"DAGSTER_CODE_HOST": host, "DAGSTER_CODE_PORT": str(port)}


def workspace() -> Path:
    """Return the workspace file of the services."""
    from assets.dagster_home import WORKSPACE

    return WORKSPACE


def code_command(*address: str) -> list[str]:
    """Return the command of a code server at an address."""
    from assets.dagster_home import PROJECT

    module = ("-m", "assets.definitions", "--working-directory", str(PROJECT))
    return python_module("assets.code_server", "code-server", "start", *module, *address)


def web_command(workspace: Path, host: str, port: int) -> list[str]:
    """Return the command of the web server."""
    return python_module("assets.web_server", str(workspace), host, str(port))


def daemon_command(workspace: Path) -> list[str]:
    """Return the command of the daemon."""
    return python_module("dagster._daemon", "run", "-w", str(workspace))


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module; `-P` keeps the current folder off the import path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def check_port(host: str, port: int) -> None:
    """Raise WrongInputError if this address cannot be bound."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise WrongInputError(
            f"port {port} of {host} cannot be served ({reason}): end the program that uses it, or name "
            "another port with --port"
        ) from None


@contextmanager
def hold_daemon_lock(settings: "Settings", work: str) -> Generator[int]:
    """Hold the lock that allows one daemon per home; yield its file descriptor for the daemon to inherit."""
    from pipeline.locks import LockedError, hold

    try:
        with hold(settings.lake.lock("daemon"), f"the daemon of {settings.home} is run", work) as descriptor:
            yield descriptor
    except LockedError as error:
        raise click.ClickException(str(error)) from None


def set_environment(settings: "Settings") -> None:
    """Set the environment from which Dagster's processes load the home's settings."""
    from assets.dagster_home import dagster_environment
    from pipeline.settings import shell_to_remember

    os.environ |= dagster_environment(settings)
    os.environ |= shell_to_remember()


def become(settings: "Settings", command: list[str]) -> None:
    """Replace this process by a service of the home."""
    set_environment(settings)
    os.execv(command[0], command)  # noqa: S606 - this interpreter
