"""The same days and trainings by no cluster, by one worker and by two, in turn, several times.

The clock of a machine that others use tells little: a process that is ready to run waits for a processor. The
kernel counts that waiting, so that the clock can be told without it, and processor time tells what a cluster
adds to the work itself. Of all rounds, medians; what each makes is compared with what is made without one.
"""

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

import psutil

from benchmarks.cluster.work import Days, Trainings, Work
from model.identity import TrainingSettings
from pipeline.cluster.run import run_tasks
from pipeline.following.window import Window
from pipeline.lake import Lake
from pipeline.variant_names import ldg_name, variant_key
from pipeline.variants import DYREP, DYREP_RANDOM, PAPER_INTERACTIONS, PRIORS
from tests.cluster_machines import cluster_on
from tests.cluster_tasks import store_dataset
from tests.todays_archive import World, write_days

WORLD = World(people=60, circle=12, crowd=200, events=300_000)  # about a day of 2013
DAYS = Window(date(2026, 6, 1), date(2026, 6, 8))
VARIANTS = ("dyrep-concat", "dyrep-bilinear", "gcn-concat", "gat-concat")
SETTINGS = TrainingSettings(seeds=(0, 1), epochs=30, batch=40, d=8)
# Those that take longest first, so that no worker is left with one at the end.
TABLE_3 = (
    *(ldg_name(attention, prior) for attention in ("learned", "random") for prior in PRIORS),
    DYREP,
    DYREP_RANDOM,
)
WORKERS = (0, 1, 2)


@dataclass(frozen=True)
class Spent:
    """What a piece of work took: seconds of the clock, and of the processes that did it."""

    clock: float
    processor: float  # of all of them
    waiting: float  # for a processor, on average

    @property
    def undisturbed(self) -> float:
        """The clock, had no other process been in the way."""
        return self.clock - self.waiting


def speed(folder: Path, rounds: int) -> dict[str, dict[str, object]]:
    """How much sooner two workers are done than one, and what a cluster costs beside none.

    A round goes ahead that is not counted: it imports, and compiles.
    """
    write_days(folder / "archive", WORLD, DAYS)
    works = {"days": Days(folder / "archive", DAYS), "trainings": Trainings(VARIANTS, SETTINGS)}
    return compare(works, folder, store_dataset, rounds, uncounted=1)


def speed_of_table_3(folder: Path, home: Path, seeds: int, epochs: int) -> dict[str, dict[str, object]]:
    """The same of the trainings of Table 3 on the event tables in `home`, in one round

    It takes minutes, so that imports do not count.
    """
    datasets = sorted(path.parent.name for path in (home / "datasets").glob("*/dataset.json"))
    keys = [variant_key(name, interaction) for name in TABLE_3 for interaction in PAPER_INTERACTIONS]
    settings = TrainingSettings(seeds=tuple(range(seeds)), epochs=epochs)

    def share_tables(lake: Lake) -> None:
        shutil.copytree(home / "datasets", lake.home / "datasets")

    return compare({"Table 3": Trainings(keys, settings, datasets)}, folder, share_tables, 1, uncounted=0)


def compare(
    works: Mapping[str, Work], folder: Path, furnish: Callable[[Lake], None], rounds: int, *, uncounted: int
) -> dict[str, dict[str, object]]:
    """Each of `works` by no cluster, one worker and two, on homes of their own that `furnish` fills."""
    spent: dict[str, dict[int, list[Spent]]] = {name: {many: [] for many in WORKERS} for name in works}
    same = dict.fromkeys(works, True)
    with ExitStack() as stack:
        places: dict[int, tuple[Lake, str, list[psutil.Process]]] = {}
        for many in WORKERS:
            lake = Lake(folder / f"workers{many}")
            furnish(lake)
            if many:
                machines = stack.enter_context(cluster_on(lake.home, many))
                places[many] = lake, machines.address, machines.at_work()
            else:
                places[many] = lake, "", [psutil.Process()]
        for number in range(uncounted + rounds):
            for name, work in works.items():
                expected: dict[str, object] = {}
                for many, (lake, address, processes) in places.items():
                    took = measure(work, lake, address, processes)
                    print(f"round {number}: {name}, {many} workers: {took}", file=sys.stderr, flush=True)
                    if number >= uncounted:
                        spent[name][many].append(took)
                    made = work.made(lake)
                    work.remove(lake)
                    expected = expected or made
                    same[name] &= made == expected
    return {name: ratios(of) | {"same as without a cluster": same[name]} for name, of in spent.items()}


def measure(work: Work, lake: Lake, address: str, processes: Sequence[psutil.Process]) -> Spent:
    """Have all tasks done by these processes."""
    before = [of_threads(process) for process in processes]
    started = time.monotonic()
    list(run_tasks(work.tasks(address), lake, address))
    clock = time.monotonic() - started
    ran, waited = 0.0, 0.0
    for process, then in zip(processes, before, strict=True):
        spent = {
            thread: [now - of for now, of in zip(counts, then.get(thread, (0.0, 0.0)), strict=True)]
            for thread, counts in of_threads(process).items()
        }
        ran += sum(running for running, _ in spent.values())
        waited += max(spent.values())[1]  # of the thread that does the tasks
    return Spent(clock, ran, waited / len(processes))


def of_threads(process: psutil.Process) -> dict[str, tuple[float, float]]:
    """Seconds that each thread of a process ran, and that it waited for a processor."""
    counts = {}
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        running, waiting, _ = map(int, (thread / "schedstat").read_text().split())
        counts[thread.name] = running / 1e9, waiting / 1e9
    return counts


def ratios(spent: dict[int, list[Spent]]) -> dict[str, object]:
    """Medians over the rounds."""

    def middle(of: int, what: str, beside: int) -> float:
        pairs = zip(spent[of], spent[beside], strict=True)
        return round(median(getattr(one, what) / getattr(other, what) for one, other in pairs), 2)

    return {
        "clock of one worker over two": middle(1, "clock", 2),
        "the same without waiting for a processor": middle(1, "undisturbed", 2),
        "processor time of one worker over none": middle(1, "processor", 0),
        "processor time of two workers over none": middle(2, "processor", 0),
        "seconds of processor with none": round(median(one.processor for one in spent[0]), 1),
    }
