"""A worker, the scheduler or the client killed in the middle; then the same work is asked for again.

The moment is drawn: after a step of a task's progress, and a fraction of a second more, so that it may fall
into any write. What is there in the end is compared with what one process makes, file by file. A cluster goes
on with the next round where it survives one: a worker is started again by its nanny, a client is a fork.
"""

import multiprocessing
import os
import random
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.cluster.work import Days, Trainings, Work
from pipeline.cluster.run import run_tasks
from pipeline.cluster.task import ClusterError, Task
from pipeline.lake import Lake
from tests.cluster_machines import Machines, cluster_on
from tests.cluster_tasks import DAYS, KEY, SETTINGS, disturbed, store_dataset, write_archive

VICTIMS = ("worker", "scheduler", "client")
STEPS: dict[type, int] = {Days: 48, Trainings: 40}  # of a task's progress, of which one is drawn
LONGEST_DELAY = 0.2  # seconds after it

FORKS = multiprocessing.get_context("forkserver")  # of a process that has imported everything, and no threads


def kills(folder: Path, count: int, victims: Sequence[str], chance: random.Random) -> dict[str, str]:
    """So many of each victim, half of them in days and half in trainings."""
    write_archive(folder / "archive")
    works: list[Work] = [Days(folder / "archive", DAYS), Trainings([KEY], SETTINGS)]
    alone = Lake(folder / "alone")
    store_dataset(alone)
    for work in works:
        order(work.tasks(""), alone, "")
    expected = [work.made(alone) for work in works]
    FORKS.set_forkserver_preload([__name__])
    figures = {}
    for victim in victims:
        same = killed = 0
        lake = Lake(folder / victim)
        store_dataset(lake)
        with closing(running(lake.home)) as clusters:
            for number in range(count):
                work = works[number % 2]
                disturb(victim, work, lake, clusters, chance)
                others = differences(work.made(lake), expected[number % 2])
                same += not others
                outcome = f"other {', '.join(others)}" if others else "the same"
                print(f"{victim} {number + 1}: {type(work).__name__}, {outcome}", file=sys.stderr, flush=True)
                work.remove(lake)
                for marker in lake.home.glob("killed in *"):
                    marker.unlink()
                    killed += 1
        figures[victim] = f"{same} of {count} the same, {killed} killed in the middle"
    return figures


def running(home: Path) -> Generator[Machines]:
    """The cluster on a home, whenever it is asked for; a new one if its scheduler is gone."""
    while True:
        with cluster_on(home) as machines:
            assert machines.scheduler is not None
            while machines.scheduler.poll() is None:
                yield machines


def disturb(
    victim: str, work: Work, lake: Lake, clusters: Generator[Machines], chance: random.Random
) -> None:
    """Have work done in the middle of which the victim is killed, then what is left of it."""
    machines = next(clusters)
    tasks = work.tasks(machines.address)
    assert machines.scheduler is not None
    place, step = chance.randrange(len(tasks)), chance.randrange(1, STEPS[type(work)])
    delay = chance.random() * LONGEST_DELAY
    if victim == "client":
        arguments = (tasks, lake, machines.address, place, step, delay)
        client = FORKS.Process(target=order_and_die, args=arguments)
        client.start()
        client.join()
    else:
        process = 0 if victim == "worker" else machines.scheduler.pid
        tasks[place] = disturbed(tasks[place], step, process, delay)
        with suppress(ClusterError):  # it says that the scheduler is gone
            order(tasks, lake, machines.address)
        time.sleep(LONGEST_DELAY)  # the work may end while the kill is on its way
    address = next(clusters).address
    order(work.tasks(address), lake, address)


def order(tasks: list[Task], lake: Lake, address: str) -> None:
    """Have tasks done."""
    for _ in run_tasks(tasks, lake, address):
        pass


def order_and_die(tasks: list[Task], lake: Lake, address: str, place: int, step: int, delay: float) -> None:
    """The client that is killed by one of its tasks."""
    tasks[place] = disturbed(tasks[place], step, os.getpid(), delay)
    order(tasks, lake, address)


def differences(made: dict[str, object], expected: dict[str, object]) -> list[str]:
    """The files that are not as they should be."""
    return [name for name in sorted(made.keys() | expected.keys()) if made.get(name) != expected.get(name)]
