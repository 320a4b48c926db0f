"""The worker's side of the cluster: runs orders on its own path to the home and reports progress.

A worker whose home is not the client's runs only tasks that both homes can share through the storage.

If the client disconnects or cancels, the task's thread ends at its next progress report (AbandonedError), so
its locks are released soon.
"""

import socket
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from distributed import Worker, get_worker
from distributed.core import Status

from pipeline.cluster.software import Software, refuse_other_software
from pipeline.cluster.task import ClusterError, Task
from pipeline.lake import Lake
from pipeline.locks import hold
from pipeline.progress import State, watched_by
from pipeline.settings import Settings
from pipeline.storage.share import bring_things, shared

LONGEST_WAIT = 3600.0  # seconds, for another process that downloads or makes the same thing
TOPIC = "ldg"  # of events from workers to clients
GONE = (Status.closing, Status.closed, Status.failed)


class AbandonedError(RuntimeError):
    """A cancelled task, or one whose client is gone."""


@dataclass(frozen=True)
class Order:
    """A task as a client submits it; `mark` names a file that the client created in its home."""

    key: str
    task: Task[Any]
    lake: Lake
    mark: str
    software: Software


@dataclass(frozen=True)
class News:
    """A worker's message about an order: a log line or its progress."""

    key: str
    line: str = ""
    state: State | None = None


# msgspec prepares a type at its first use, which only one thread may do: the import.
msgspec.json.Decoder(News)


def perform_order(order: Order) -> Any:  # noqa: ANN401 - whatever the task returns
    """Run the task of `order` here; raise ClusterError if the software differs or the home is unusable."""
    worker = get_worker()
    refuse_other_software(order.software)
    lake = replace(order.lake, home=own_home())
    task = order.task
    is_apart = not (lake.home / order.mark).exists()
    if is_apart:
        refuse_other_home(lake, task)

    def tell(news: News) -> None:
        if not is_awaited(worker, order.key):
            raise AbandonedError(f"{task.name} was called off")
        worker.log_event(TOPIC, msgspec.to_builtins(news))

    def log(line: str) -> None:
        tell(News(order.key, line))

    with watched_by(lambda state: tell(News(order.key, state=state))):
        if not is_apart:
            return task.run(lake, log)
        for thing in task.needs:  # locked against other processes of this machine
            with hold(lake.lock(*thing.lock), f"{thing.name} is being brought", task.name, LONGEST_WAIT, log):
                bring_things(lake, thing, log=log)
        with shared(lake, *task.makes, log=log):
            return task.run(lake, log)


def is_awaited(worker: Worker, key: str) -> bool:
    """Return True if the worker is running and the order was neither cancelled nor released."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled" and worker.status not in GONE


@cache
def own_home() -> Path:
    """Return this worker's path to the home."""
    return Settings.load().home.absolute()


def refuse_other_home(lake: Lake, task: Task) -> None:
    """Raise ClusterError unless storage and `makes` let this home, not the client's, run the task."""
    if lake.storage and task.makes:
        return
    remedy = (
        f"{task.name} needs a home that all machines see"
        if lake.storage
        else "mount the home there, and start its workers with LDG_HOME set to it; trainings can do with a "
        "storage that both homes share (LDG_STORAGE)"
    )
    raise ClusterError(
        f"the worker on {socket.gethostname()} has LDG_HOME={lake.home}, which is another folder than "
        f"the home of this run: {remedy}"
    )
