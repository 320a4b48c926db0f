"""A fortnight of a followed archive, lived by Dagster's own daemon under a clock that the test owns.

The archive is late, lacks an hour, replaces a file and is down for a day; the daemon, its code server, a run
and the archive are killed. Nobody helps: what is there at the end is what an undisturbed replay leaves.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import psutil
import pytest
from dagster import DagsterInstance, DagsterRun, RunsFilter

from pipeline.lake import Lake, write_text
from pipeline.locks import holder
from pipeline.sources.gharchive.hours import file_name
from tests.todays_archive import World, hour_file, write_days
from tests.whole_system import ROOT, environment, run_module, wait_for

pytestmark = pytest.mark.timeout(1500)

WORLD = World(people=12, circle=6, crowd=20, events=240)
DAYS = 14
LOOK_BACK = 8
FIRST = date(2024, 5, 9)  # the first day that is lived; the window before it is there from the start
EVERY_DAY = [FIRST + timedelta(days=number) for number in range(-LOOK_BACK, DAYS)]
LIVED = EVERY_DAY[LOOK_BACK:]

SETTINGS = {
    "LDG_FOLLOW_DAYS": str(LOOK_BACK),
    "LDG_FOLLOW_NODES": "8",
    "LDG_FOLLOW_RESELECT": "7",
    "LDG_RETRY_SECONDS": "0",
    "OMP_NUM_THREADS": "1",
}
TABLES = ("forecasts", "forecast_scores", "followed", "today", "track_record")

# What goes wrong, by the number of the lived day.
LATE, MISSING, REPLACED, DOWN = 2, 3, 4, 6
LATE_FOR = 2  # days
REPLACED_ON = 9
KILLED = {5: "run", 8: "daemon", 10: "code server", 11: "archive"}


@dataclass
class Fortnight:
    """The processes of a lived fortnight, and what a reader of the warehouse saw."""

    folder: Path
    port: int
    clock: Path = field(init=False)
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        self.clock = self.folder / "clock.txt"

    @property
    def archive(self) -> Path:
        """What is published."""
        return self.folder / "archive"

    @property
    def lake(self) -> Lake:
        """The home that is lived in."""
        return Lake(self.folder / "home")

    @property
    def environment(self) -> dict[str, str]:
        """That of every process of Dagster."""
        return environment(
            self.lake.home,
            **SETTINGS,
            LDG_GHARCHIVE_URL=f"http://127.0.0.1:{self.port}",
            OWNED_CLOCK=str(self.clock),
            PYTHONPATH=str(ROOT / "tests" / "end_to_end" / "owned_clock"),
            DAGSTER_DAEMON_HEARTBEAT_TOLERANCE="100000000",  # its clock makes leaps
        )

    def set_clock(self, moment: datetime) -> None:
        """The scheduler waits for the next minute: half a second before one, it looks twice a second."""
        write_text(moment.replace(second=59, microsecond=500_000, tzinfo=UTC).isoformat(), self.clock)

    def start(self, name: str) -> None:
        """Start the daemon or the archive; what they print goes to a file."""
        arguments = {
            "daemon": ["-m", "dagster._daemon", "run"],
            "archive": ["-m", "tests.end_to_end.published_archive", str(self.archive), str(self.port)],
        }[name]
        of_the_test = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environment if name == "daemon" else of_the_test,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self, name: str) -> None:
        """Kill -9 one of the processes, and start it again if nothing else would."""
        if name == "run":
            at_work = holder(self.lake.lock("datasets", "following"))
            assert at_work is not None
            os.kill(at_work.process, signal.SIGKILL)
        elif name == "code server":
            children = psutil.Process(self.processes["daemon"].pid).children()
            (server,) = (child for child in children if "grpc" in child.cmdline())
            server.kill()
        else:
            self.processes[name].kill()
            self.processes[name].wait()
            self.start(name)

    def runs_of(self, day: date) -> list[DagsterRun]:
        """The runs that the schedule asked for as of a day."""
        return list(self.instance.get_runs(RunsFilter(tags={"dagster/partition": day.isoformat()})))

    def is_over(self, day: date) -> bool:
        """Whether the day's run has ended, well or not."""
        return any(run.is_finished for run in self.runs_of(day))

    def look(self) -> None:
        """What a reader of the warehouse sees: once a table has rows it always has."""
        seen: set[str] = set()
        while not self.stopped.is_set():
            if self.lake.warehouse.exists():
                with duckdb.connect(str(self.lake.warehouse), read_only=True) as warehouse:
                    full = {name for name in TABLES if warehouse.sql(f"from {name} limit 1").fetchall()}
                self.empty += sorted(seen - full)
                seen |= full
                self.looks += 1
            time.sleep(0.2)

    stopped: threading.Event = field(default_factory=threading.Event)
    instance: DagsterInstance = field(init=False)


@contextmanager
def fortnight(folder: Path) -> Generator[Fortnight]:
    """A home, an archive and a daemon that waits for the first tick."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        lived = Fortnight(folder, free.getsockname()[1])
    write_days(lived.archive, WORLD, EVERY_DAY[:LOOK_BACK])
    lived.set_clock(datetime(FIRST.year, FIRST.month, FIRST.day, 13))
    for name in ("archive", "daemon"):
        lived.start(name)
    asked = ("schedule", "start", "follow_newest_day", "-w", "workspace.yaml")
    run_module("dagster", *asked, environment=lived.environment)
    reader = threading.Thread(target=lived.look)
    reader.start()
    try:
        with DagsterInstance.get() as lived.instance:
            yield lived
    finally:
        lived.stopped.set()
        reader.join()
        for process in lived.processes.values():
            family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for one in (*family, process):
                one.kill()
            process.wait()


def test_a_disturbed_fortnight_leaves_what_an_undisturbed_replay_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment(tmp_path / "home", **SETTINGS).items():
        monkeypatch.setenv(name, text)
    late = file_name(LIVED[LATE], 15)
    missing = file_name(LIVED[MISSING], 9)
    replaced = file_name(LIVED[REPLACED], 12)
    with fortnight(tmp_path) as lived:
        for number, day in enumerate(LIVED):
            live(lived, number, day, {late, missing}, replaced)
            if number == LATE + LATE_FOR:
                (lived.archive / late).write_bytes(hour_file(WORLD, LIVED[LATE], 15))
            if number == REPLACED_ON:
                (lived.archive / replaced).write_bytes(hour_file(WORLD, LIVED[REPLACED], 12))
        asked = (tmp_path / "asked.log").read_text().splitlines()
    assert not lived.empty
    assert lived.looks > DAYS
    assert asked.count(f"{late} 404") >= LATE_FOR
    assert asked.count(f"{missing} 404") >= DAYS - MISSING - 3, "each tick asks again, but for what was down"
    assert f"{replaced} 200" in asked[asked.index(f"{replaced} 200") + 1 :]

    replay = environment(tmp_path / "replay", **SETTINGS, LDG_GHARCHIVE_URL=str(lived.archive))
    run_module("assets", "follow", "--from", str(LIVED[1]), "--to", str(LIVED[-1]), environment=replay)
    for table in TABLES:
        assert rows(lived.lake, table) == rows(Lake(tmp_path / "replay"), table), table


def live(lived: Fortnight, number: int, day: date, unpublished: set[str], replaced: str) -> None:
    """One day: it is published, the clock comes to the tick, and the day's run ends."""
    write_days(lived.archive, WORLD, [day], without=frozenset(unpublished))
    if number == REPLACED:
        (lived.archive / replaced).write_bytes(hour_file(World(events=24), day, 12))
    if number == DOWN:
        (lived.archive / "outage").touch()
    tick = day + timedelta(days=1)
    lived.set_clock(datetime(tick.year, tick.month, tick.day, 12, 45))
    victim = KILLED.get(number)
    if victim is not None:
        wait_for(at_work(lived, day, victim))
        lived.kill(victim)
    wait_for(lambda: lived.is_over(day))
    (lived.archive / "outage").unlink(missing_ok=True)


def at_work(lived: Fortnight, day: date, victim: str) -> Callable[[], object]:
    """When to strike: while the day is being made, for a run; else as soon as its run is there."""
    if victim == "run":
        return lambda: holder(lived.lake.lock("datasets", "following"))
    return lambda: lived.runs_of(day)


def rows(lake: Lake, table: str) -> list[tuple]:
    """A table of the track record; that a row was revised is the one thing a replay cannot know."""
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        columns = warehouse.sql(f"from {table} limit 0").columns
        listed = ", ".join(f'"{name}"' for name in columns if name != "revised")
        return warehouse.sql(f"select {listed} from {table} order by all").fetchall()
