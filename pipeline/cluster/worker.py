"""What a worker does with an order: the task, on the worker's own path to the home, watched from afar.

A client that is gone, or that called its tasks off, leaves a task at work in its thread: it ends when it next
tells how far it is, so that nobody waits long for its locks.
"""

import socket
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from distributed import Worker, get_worker
from distributed.core import Status

from pipeline.cluster.software import Software
from pipeline.cluster.task import ClusterError, Task
from pipeline.lake import Lake
from pipeline.progress import State, watched_by
from pipeline.settings import Settings

TOPIC = "ldg"  # of the events that travel from workers to clients
GONE = (Status.closing, Status.closed, Status.failed)


class AbandonedError(RuntimeError):
    """Nobody waits for this task any more."""


@dataclass(frozen=True)
class Order:
    """A task as a client sends it; `mark` is a file that the client put into its home."""

    key: str
    task: Task[Any]
    lake: Lake
    mark: str
    software: Software


@dataclass(frozen=True)
class News:
    """What a worker tells of an order: a line for the log, or how far it is."""

    key: str
    line: str = ""
    state: State | None = None


def perform(order: Order) -> Any:  # noqa: ANN401 - whatever the task returns
    """Do the task of `order` on this worker."""
    worker = get_worker()
    refuse_other_software(order.software)
    lake = replace(order.lake, home=own_home())
    refuse_other_home(lake, order.mark)

    def tell(news: News) -> None:
        if not is_wanted(worker, order.key):
            raise AbandonedError(f"{order.task.name} was called off")
        worker.log_event(TOPIC, msgspec.to_builtins(news))

    with watched_by(lambda state: tell(News(order.key, state=state))):
        return order.task.run(lake, lambda line: tell(News(order.key, line)))


def is_wanted(worker: Worker, key: str) -> bool:
    """Whether somebody still waits for what this worker does."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled" and worker.status not in GONE


@cache
def own_home() -> Path:
    """Where this worker finds the home."""
    return Settings.load().home.absolute()


def refuse_other_software(software: Software) -> None:
    """An error unless the client's software is this worker's."""
    if mismatches := software.differences(Software.here()):
        raise ClusterError(
            f"the worker on {socket.gethostname()} has other software ({'; '.join(mismatches)}): its results "
            "might differ. Install the same commit with the same requirements on every machine, then start "
            "its workers again"
        )


def refuse_other_home(lake: Lake, mark: str) -> None:
    """An error unless the client's home is this worker's."""
    if not (lake.home / mark).exists():
        raise ClusterError(
            f"the worker on {socket.gethostname()} has LDG_HOME={lake.home}, which is another folder than "
            "the home of this run: mount the home there, and start its workers with LDG_HOME set to it"
        )
