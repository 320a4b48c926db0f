"""`ldg dev`: Dagster's code server, web server and daemon in one command."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from assets.cli.home import home_to_write
from assets.cli.serve import (
    PORT,
    check_port,
    code_command,
    daemon_command,
    hold_daemon_lock,
    set_environment,
    web_command,
)

HOST = "127.0.0.1"
LONGEST_END = 60.0  # seconds
Start = Callable[..., subprocess.Popen]


@click.command()
@click.option("--port", type=PORT, default=3000, show_default=True)
def dev(port: int) -> None:
    """Serve Dagster's UI for this home on 127.0.0.1."""
    settings = home_to_write()
    check_port(HOST, port)
    # A shell that starts this in the background ignores SIGINT, and services would inherit that.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with hold_daemon_lock(settings, "ldg dev") as lock, TemporaryDirectory(prefix="ldg-") as folder:
        set_environment(settings)
        with process_group() as start:
            serve_all(Path(folder), port, lock, start)


def serve_all(folder: Path, port: int, lock: int, start: Start) -> None:
    """Run code server, web server and daemon; raise an error when one of them ends."""
    code_socket, workspace = folder / "code.sock", folder / "workspace.yaml"
    server = {"socket": str(code_socket), "location_name": "assets.definitions"}
    workspace.write_text(json.dumps({"load_from": [{"grpc_server": server}]}), encoding="utf-8")
    services = {"code server": start(code_command("--socket", str(code_socket), "--log-level", "warning"))}
    while not code_socket.exists():
        check_alive(services)
    services["web server"] = start(web_command(workspace, HOST, port))
    services["daemon"] = start(daemon_command(workspace), pass_fds=(lock,))
    while True:
        check_alive(services)


def check_alive(services: dict[str, subprocess.Popen]) -> None:
    """Raise an error if a service has ended; otherwise sleep half a second."""
    for name, process in services.items():
        if process.poll() is not None:
            raise click.ClickException(
                f"the {name} ended with {process.returncode}, and the UI with it: its messages are above"
            )
    time.sleep(0.5)


@contextmanager
def process_group() -> Generator[Start]:
    """Yield a function that starts processes which end with this one, even if it is killed.

    The group's first process waits for a pipe from this one to close, then ends the group.
    """
    guard = subprocess.Popen(["/bin/sh", "-c", "read _; kill 0"], stdin=subprocess.PIPE, process_group=0)
    started: list[subprocess.Popen] = []

    def start(command: list[str], pass_fds: tuple[int, ...] = ()) -> subprocess.Popen:
        process = subprocess.Popen(  # noqa: S603 - this interpreter
            command, stdin=subprocess.DEVNULL, process_group=guard.pid, pass_fds=pass_fds
        )
        started.append(process)
        return process

    try:
        yield start
    finally:
        guard.communicate()
        for process in started:
            try:
                process.wait(LONGEST_END)
            except subprocess.TimeoutExpired:
                process.kill()
