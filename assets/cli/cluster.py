"""`ldg scheduler` and `ldg worker`: the processes of a Dask cluster."""

import os
import socket
import sys
from importlib.util import find_spec
from urllib.parse import urlsplit

import click

from assets.cli.home import WrongInputError, home_to_write

PORT = 8786
# Tasks have one thread. Without Dask's profiler, and with freed memory kept as glibc does by default instead
# of returned at once as Dask sets it, trainings are about a tenth faster.
WORKER = {
    "POLARS_MAX_THREADS": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


@click.command(short_help="The scheduler of a cluster.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address at which it listens.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
def scheduler(host: str, port: int) -> None:
    """Hand the tasks of runs with LDG_CLUSTER to the workers; docs/cluster.md starts with two machines.

    Anyone who can connect to its port can run any code on the workers: expose it only within a network of
    your own, or with certificates (docs/cluster.md#certificates).
    """
    # The dashboard, on a free port, is reachable from this machine only.
    become_dask("dask_scheduler", "--host", host, "--port", str(port), "--dashboard-address", "127.0.0.1:0")


@click.command(short_help="Workers of a cluster, on this machine.")
@click.argument("address", required=False)
@click.option("--processes", type=click.IntRange(1), help="How many; without it, one per processor.")
@click.option("--name", help="What they are called; without it, as this machine.")
@click.option(
    "--memory", default="auto", show_default=True, help="What each may use, as 4GB; one that uses more ends."
)
def worker(address: str | None, processes: int | None, name: str | None, memory: str) -> None:
    """Run tasks of the scheduler at ADDRESS (tcp://host:8786; without it, LDG_CLUSTER) on this home.

    Each process runs one task at a time, with one thread. A process that dies is restarted.
    """
    settings = home_to_write()
    from pipeline.machine import processors
    from pipeline.settings import checked_cluster

    try:
        address = checked_cluster(address or settings.cluster)
    except ValueError:
        raise WrongInputError(
            f"ADDRESS is {address!r}; it takes tcp://host:8786 or tls://host:8786"
        ) from None
    if not address:
        raise WrongInputError("name the scheduler: `ldg worker tcp://host:8786`, or set LDG_CLUSTER")
    os.environ["LDG_HOME"] = str(settings.home.absolute())
    for variable, text in WORKER.items():
        os.environ.setdefault(variable, text)
    host = own_address(address)
    become_dask(
        *("dask_worker", address, "--nworkers", str(processes or processors()), "--nthreads", "1"),
        *("--name", name or socket.gethostname(), "--memory-limit", memory, "--host", host),
        *("--dashboard-address", "127.0.0.1:0", "--no-dashboard"),
    )


def own_address(scheduler: str) -> str:
    """Return this machine's address in the scheduler's network; workers listen only there."""
    place = urlsplit(scheduler)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:  # nothing is sent
            towards.connect((place.hostname, place.port))
            return towards.getsockname()[0]
    except OSError as error:
        raise WrongInputError(
            f"{place.hostname} cannot be found ({error}): is the scheduler's address right?"
        ) from None


def become_dask(command: str, *arguments: str) -> None:
    """Replace this process by a Dask command; raise WrongInputError if Dask is not installed."""
    if find_spec("distributed") is None:  # importing it would take a second
        raise WrongInputError("a cluster needs Dask: `make cluster` installs it")
    os.execv(sys.executable, [sys.executable, "-m", f"distributed.cli.{command}", *arguments])  # noqa: S606
