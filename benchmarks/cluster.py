"""A cluster of processes on this machine: killed at random moments, and two workers beside one.

`python -m benchmarks.cluster --kills 20` kills a worker, the scheduler and the client, so many times each, in
the middle of days and trainings, each with SIGKILL at a random step of the work; then the same work is asked
for again, and what is made is compared with an undisturbed run. `--speed` reads days and trains variants with
one worker and with two, in turn, and prints the ratios.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from pipeline.cluster.run import run_tasks
from pipeline.cluster.task import ClusterError, Task
from pipeline.following.bring import read_changed
from pipeline.lake import Lake
from pipeline.sources.gharchive.days import bring_alone
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.normalize import EventRules
from tests.cluster_machines import cluster_on
from tests.cluster_tasks import DAYS, LATER, SETTINGS, disturbed, store_dataset, training, write_archive
from tests.pipeline.cluster.test_cluster import KEY, days_made, model_made
from tests.todays_archive import World, write_days

VICTIMS = ("worker", "scheduler", "client")
STEPS = {"days": 4 * 48, "training": 40}  # of progress, in which the moment of a kill is drawn
SPEED = World(people=60, circle=12, crowd=200, events=60_000)
VARIANTS = ("dyrep-concat", "dyrep-bilinear", "gcn-concat", "gat-concat")


def main() -> None:
    """Print what was asked for as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--client", nargs=4, help="internal: a client to be killed")
    arguments = parser.parse_args()
    if arguments.client:
        home, address, work, steps = arguments.client
        order(work, Lake(Path(home)), address, int(steps), os.getpid())
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = {}
        if arguments.kills:
            figures["kills"] = kills(Path(folder), arguments.kills, random.Random(arguments.seed))
        if arguments.speed or not arguments.kills:
            figures["speed"] = speed(Path(folder))
    print(json.dumps(figures, indent=2))


def day_tasks(archive: Path) -> list[Task]:
    """The days, fetched and read."""
    use = partial(read_changed, rules=EventRules(), keep_raw=False, work="a benchmark")
    settings = FetchSettings(base=str(archive))
    days = [*list(DAYS)[::2], *list(DAYS)[1::2]]
    return [Task(str(day), bring_alone, (day, settings, use, LATER, (0, ""), "a benchmark")) for day in days]


def order(work: str, lake: Lake, address: str, steps: int = 0, victim: int = 0) -> None:
    """Have the days or the training done; with `steps`, a process is killed after so many of the first."""
    tasks = [training(KEY)] if work == "training" else day_tasks(lake.home.parent / "archive")
    if steps:
        tasks[0] = disturbed(tasks[0], steps, victim)
    for _ in run_tasks(tasks, lake, address):
        pass


def made(work: str, lake: Lake) -> dict:
    """What is there to compare."""
    return dict(model_made(lake)) if work == "training" else dict(days_made(lake))


def kills(folder: Path, count: int, chance: random.Random) -> dict[str, str]:
    """So many of each victim, half of them in days and half in trainings."""
    write_archive(folder / "archive")
    alone = Lake(folder / "alone")
    store_dataset(alone)
    for work in STEPS:
        order(work, alone, "")
    expected = {work: made(work, alone) for work in STEPS}
    figures = {}
    for victim in VICTIMS:
        same = came = 0
        for number in range(count):
            work = list(STEPS)[number % 2]
            home = folder / f"{victim}{number}"
            lake = Lake(home)
            store_dataset(lake)
            came += disturb(
                victim, work, lake, chance.randrange(1, STEPS[work] // (4 if work == "days" else 1))
            )
            same += made(work, lake) == expected[work]
            print(f"{victim} {number + 1}: {work}, {same} the same", file=sys.stderr, flush=True)
            shutil.rmtree(home)
        figures[victim] = f"{same} of {count} the same, {came} killed in the middle"
    return figures


def disturb(victim: str, work: str, lake: Lake, steps: int) -> bool:
    """Have work done whose victim is killed, then what is left of it; return whether it was."""
    with cluster_on(lake.home) as machines:
        assert machines.scheduler is not None
        if victim == "client":
            command = [sys.executable, "-m", "benchmarks.cluster", "--client"]
            subprocess.run([*command, str(lake.home), machines.address, work, str(steps)], check=False)
        elif victim == "worker":
            order(work, lake, machines.address, steps)
        else:
            with suppress(ClusterError):  # one that says so: the scheduler is gone
                order(work, lake, machines.address, steps, machines.scheduler.pid)
        if victim != "scheduler":
            order(work, lake, machines.address)
    if victim == "scheduler":
        with cluster_on(lake.home) as machines:
            order(work, lake, machines.address)
    return any(lake.home.glob("killed in *"))


def speed(folder: Path) -> dict[str, float]:
    """Seconds of the clock with one worker over those with two."""
    archive = folder / "speed"
    write_days(archive, SPEED, DAYS)
    seconds: dict[str, dict[int, float]] = {"days": {}, "trainings": {}}
    for workers in (1, 2):
        home = folder / f"speed{workers}"
        lake = Lake(home)
        store_dataset(lake)
        with cluster_on(home, workers) as machines:
            warm = [training(KEY, SETTINGS), training("gcn-concat", SETTINGS)]
            list(
                run_tasks(warm, lake, machines.address)
            )  # what workers import, and compile, is not the point
            started = time.monotonic()
            list(run_tasks(day_tasks(archive), lake, machines.address))
            seconds["days"][workers] = time.monotonic() - started
            long = type(SETTINGS)(seeds=(0, 1), epochs=30, batch=40, d=8)
            started = time.monotonic()
            list(run_tasks([training(key, long) for key in VARIANTS], lake, machines.address))
            seconds["trainings"][workers] = time.monotonic() - started
    return {name: round(of[1] / of[2], 2) for name, of in seconds.items()}


if __name__ == "__main__":
    main()
