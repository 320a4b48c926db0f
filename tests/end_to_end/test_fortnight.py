"""A fortnight of a followed archive, lived by Dagster's own daemon under a clock that the test owns.

The first tick brings a window of eight days, each of the six others a day: seven ticks are as many as every
fault takes once; fourteen of them would have nothing else and take minutes more.

The archive is late, lacks an hour, replaces a file and is down for a day; the daemon, its code server, a run
and the archive are killed. Nobody helps: what is there at the end is what an undisturbed replay leaves.
"""

import math
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

pytestmark = pytest.mark.timeout(1200)

WORLD = World(people=12, circle=6, crowd=20, events=240)
DAYS, LOOK_BACK = 14, 8
EVERY_DAY = [date(2024, 5, 1) + timedelta(days=number) for number in range(DAYS)]
BEFORE, LIVED = EVERY_DAY[: LOOK_BACK - 1], EVERY_DAY[LOOK_BACK - 1 :]  # the first lived day ends a window

SETTINGS = {
    "LDG_FOLLOW_DAYS": str(LOOK_BACK),
    "LDG_FOLLOW_NODES": "8",
    "LDG_FOLLOW_RESELECT": "4",
    "LDG_RETRY_SECONDS": "0",
    "OMP_NUM_THREADS": "1",
}
TABLES = ("forecasts", "forecast_scores", "followed", "today", "track_record")

# What goes wrong, by the number of the lived day.
LATE, MISSING, REPLACED, DOWN = 1, 1, 1, 3
LATE_FOR = 2  # days
REPLACED_ON = 3
KILLED = {1: "run", 2: "archive", 4: "daemon", 5: "code server"}
SILENCING, SILENCE = ("daemon", "code server"), 30.0  # seconds


@dataclass
class Fortnight:
    """The processes of a lived fortnight, and what a reader of the warehouse saw."""

    folder: Path
    port: int
    instance: DagsterInstance = field(init=False)
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)  # tables that had rows before, and what went wrong
    looks: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def clock(self) -> Path:
        """The clock of every process of Dagster."""
        return self.folder / "clock.txt"

    @property
    def archive(self) -> Path:
        """What is published."""
        return self.folder / "archive"

    @property
    def asked(self) -> Path:
        """What the archive was asked for and what it answered, one line each."""
        return self.folder / "asked.log"

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
            self.kill("daemon")  # whoever keeps services up has to: a daemon starts its server but once
        else:
            self.end(name)
            self.start(name)

    def end(self, name: str) -> None:
        """Kill -9 the daemon or the archive."""
        self.processes[name].kill()
        self.processes[name].wait()

    def end_all(self) -> None:
        """Kill every process, with those that it started."""
        for process in self.processes.values():
            family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for one in (*family, process):
                one.kill()
            process.wait()

    def runs_of(self, day: date) -> list[DagsterRun]:
        """The runs that the schedule asked for as of a day."""
        return list(self.instance.get_runs(RunsFilter(tags={"dagster/partition": day.isoformat()})))

    def is_over(self, day: date) -> bool:
        """Whether the day's run has ended, well or not."""
        return any(run.is_finished for run in self.runs_of(day))

    def look(self) -> None:
        """What a reader of the warehouse sees: once a table has rows it always has, and it always opens."""
        seen: set[str] = set()
        while not self.stopped.wait(0.5):
            if not self.lake.warehouse.exists():
                continue
            try:
                with duckdb.connect(str(self.lake.warehouse), read_only=True) as warehouse:
                    full = {name for name in TABLES if warehouse.sql(f"from {name} limit 1").fetchall()}
            except duckdb.Error as error:
                self.empty.append(str(error))
                continue
            self.empty += sorted(seen - full)
            seen |= full
            self.looks += 1


@contextmanager
def fortnight(folder: Path) -> Generator[Fortnight]:
    """A home, an archive and a daemon that waits for the first tick."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        lived = Fortnight(folder, free.getsockname()[1])
    write_days(lived.archive, WORLD, BEFORE)
    lived.set_clock(datetime(LIVED[0].year, LIVED[0].month, LIVED[0].day, 13))
    reader = threading.Thread(target=lived.look)
    # The instance comes first: its storage is made by one process, and then opened by the others.
    with DagsterInstance.get() as lived.instance:
        try:
            for name in ("archive", "daemon"):
                lived.start(name)
            asked = ("schedule", "start", "follow_newest_day", "-w", "workspace.yaml")
            run_module("dagster", *asked, environment=lived.environment)
            reader.start()
            yield lived
        finally:
            lived.stopped.set()
            if reader.is_alive():
                reader.join()
            lived.end_all()


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
            if number == LATE + LATE_FOR - 1:
                (lived.archive / late).write_bytes(hour_file(WORLD, LIVED[LATE], 15))
            if number == REPLACED_ON:
                (lived.archive / replaced).write_bytes(hour_file(WORLD, LIVED[REPLACED], 12))
        assert any(run.is_success for run in lived.runs_of(LIVED[-1]))
        asked = lived.asked.read_text().splitlines()
    assert not lived.empty
    assert lived.looks > len(LIVED)
    assert asked.count(f"{late} 404") >= LATE_FOR
    # Every tick asks again, but that of the outage and those whose run may have been lost with the daemon.
    assert asked.count(f"{missing} 404") >= len(LIVED) - MISSING - 3
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
        lived.end("archive")
    tick = day + timedelta(days=1)
    lived.set_clock(datetime(tick.year, tick.month, tick.day, 12, 45))
    victim = KILLED.get(number)
    if victim is not None:
        wait_for(at_work(lived, day, victim))
        lived.kill(victim)
    # Who is killed with the daemon or its server may never tell: the next tick makes up for it.
    patience = time.monotonic() + SILENCE if victim in SILENCING else math.inf
    wait_for(lambda: lived.is_over(day) or time.monotonic() > patience)
    if number == DOWN:
        lived.start("archive")


def at_work(lived: Fortnight, day: date, victim: str) -> Callable[[], object]:
    """When to strike: a run while it makes the day, the archive while it answers, else once a run is."""
    if victim == "run":
        return lambda: holder(lived.lake.lock("datasets", "following"))
    if victim == "archive":
        answered = lived.asked.stat().st_size
        return lambda: lived.asked.stat().st_size > answered
    return lambda: lived.runs_of(day)


def rows(lake: Lake, table: str) -> list[tuple]:
    """A table of the track record; that a row was revised is the one thing a replay cannot know."""
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        columns = warehouse.sql(f"from {table} limit 0").columns
        listed = ", ".join(f'"{name}"' for name in columns if name != "revised")
        return warehouse.sql(f"select {listed} from {table} order by all").fetchall()
