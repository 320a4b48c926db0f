"""A fortnight of a followed archive, lived by the services of the UI under a clock that the test owns.

The first tick brings a window of eight days, each of the thirteen others a day. The archive is late, lacks an
hour, replaces a file and is down for a day; a run, the archive, the code server and the daemon are killed.
The sensor `refresh` is on as well, for a network of one of these days. Nobody helps: what is there at the end
is what an undisturbed replay leaves.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import psutil
import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter
from dagster._core.test_utils import freeze_time
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget

from pipeline.lake import Lake, write_text
from pipeline.locks import holder
from pipeline.sources.gharchive.hours import file_name
from tests.ports import free_port
from tests.services import Services
from tests.todays_archive import World, hour_file, write_days
from tests.whole_system import ROOT, environment, run_ldg, wait_for

pytestmark = pytest.mark.timeout(2400)

WORLD = World(people=12, circle=6, crowd=20, events=240)
TICKS, LOOK_BACK = 14, 8
EVERY_DAY = [date(2024, 5, 1) + timedelta(days=number) for number in range(LOOK_BACK - 1 + TICKS)]
BEFORE, LIVED = EVERY_DAY[: LOOK_BACK - 1], EVERY_DAY[LOOK_BACK - 1 :]  # the first lived day ends a window

# What goes wrong, by the number of the lived day.
LATE, LATE_UNTIL = 1, 3
MISSING = 2
REPLACED, REPLACED_ON = 4, 6
DOWN = 7
KILLED = {3: "run", 9: "archive", 10: "code", 12: "daemon"}

SETTINGS = {
    "LDG_FOLLOW_DAYS": str(LOOK_BACK),
    "LDG_FOLLOW_NODES": "8",
    "LDG_FOLLOW_RESELECT": "5",
    "LDG_RETRY_SECONDS": "0",
    # A network of the day that has a late hour: it changes twice.
    "LDG_GITHUB_HISTORY": str(LIVED[LATE]),
    "LDG_GITHUB_START": str(LIVED[LATE]),
    "LDG_GITHUB_SPLIT": str(LIVED[LATE]),
    "LDG_GITHUB_END": str(LIVED[LATE]),
    "OMP_NUM_THREADS": "1",
}
LOCATION = "assets.definitions"
TABLES = ("forecasts", "forecast_scores", "followed", "today", "track_record")


@dataclass
class Fortnight:
    """The processes of a lived fortnight, and what a reader of the warehouse saw."""

    folder: Path
    port: int = field(default_factory=free_port)
    services: Services = field(init=False)
    instance: DagsterInstance = field(init=False)
    empty: list[str] = field(default_factory=list)  # tables that had rows before, and what went wrong
    looks: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.services = Services(self.environment, self.folder / "services")

    @property
    def clock(self) -> Path:
        """The clock of every process of Dagster."""
        return self.folder / "clock.txt"

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
            # The clock's `sitecustomize` imports `pipeline` before the working folder is looked at.
            PYTHONPATH=os.pathsep.join([str(ROOT / "tests" / "end_to_end" / "owned_clock"), str(ROOT)]),
            DAGSTER_DAEMON_HEARTBEAT_TOLERANCE="100000000",  # its clock makes leaps
        )

    def switch_on(self) -> None:
        """Switch on the schedule and the sensor, as a click does."""
        code = GrpcServerTarget("127.0.0.1", self.services.code_port, None, LOCATION)
        now = datetime.fromisoformat(self.clock.read_text())  # they tick from now on
        with freeze_time(now), WorkspaceProcessContext(self.instance, code) as context:
            location = context.create_request_context().get_code_location(LOCATION)
            repository = location.get_repository("__repository__")
            self.instance.start_schedule(repository.get_schedule("follow_newest_day"))
            self.instance.start_sensor(repository.get_sensor("refresh"))

    def requests(self) -> list[str]:
        """What the archive was asked for and what it answered, one line each."""
        log = self.folder / "asked.log"
        return log.read_text().splitlines() if log.exists() else []

    def set_clock(self, moment: datetime) -> None:
        """The scheduler waits for the next minute: a second before one, it looks every second."""
        write_text(moment.replace(second=59, microsecond=0, tzinfo=UTC).isoformat(), self.clock)

    def start(self, name: str) -> None:
        """Start one of the services, or the archive."""
        if name != "archive":
            self.services.start(name)
            return
        command = ["-m", "tests.end_to_end.published_archive", str(self.archive), str(self.port)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        archive = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment)
        self.services.processes["archive"] = archive

    def end(self, name: str) -> None:
        """Kill -9 a service, or the archive; a run that it has at work goes on."""
        process = self.services.processes.pop(name)
        process.kill()
        process.wait()

    def kill(self, victim: str) -> None:
        """Kill -9, and start again what nothing else would."""
        if victim == "run":
            at_work = holder(self.lake.lock("datasets", "following"))
            assert at_work is not None
            os.kill(at_work.process, signal.SIGKILL)
        else:
            self.end(victim)
            self.start(victim)

    def runs_of(self, day: date) -> list[DagsterRun]:
        """The runs that the schedule asked for as of a day."""
        return list(self.instance.get_runs(RunsFilter(tags={"dagster/partition": day.isoformat()})))

    def look(self) -> None:
        """What a reader of the warehouse sees: once a table has rows it always has, and it always opens."""
        seen: set[str] = set()
        while not self.stopped.wait(2):
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
    """A home, an archive and the services, which wait for the first tick."""
    lived = Fortnight(folder)
    write_days(lived.archive, WORLD, BEFORE)
    lived.set_clock(datetime(LIVED[0].year, LIVED[0].month, LIVED[0].day, 13))
    reader = threading.Thread(target=lived.look)
    with DagsterInstance.get() as lived.instance:
        try:
            for name in ("archive", "code"):
                lived.start(name)
            wait_for(lived.services.has_code)
            lived.switch_on()
            lived.start("daemon")
            reader.start()
            yield lived
        finally:
            lived.stopped.set()
            if reader.is_alive():
                reader.join()
            for name, process in list(lived.services.processes.items()):
                family = psutil.Process(process.pid).children(recursive=True)
                lived.end(name)
                for child in family:
                    child.kill()


def test_a_disturbed_fortnight_leaves_what_an_undisturbed_replay_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment(tmp_path / "home", **SETTINGS).items():
        monkeypatch.setenv(name, text)
    late = file_name(LIVED[LATE], 15)
    missing = file_name(LIVED[MISSING], 9)
    replaced = file_name(LIVED[REPLACED], 12)
    requests: list[list[str]] = []  # by tick
    with fortnight(tmp_path) as lived:
        for number, day in enumerate(LIVED):
            write_days(lived.archive, WORLD, [day], without=frozenset({late, missing}))
            if number == LATE_UNTIL:
                (lived.archive / late).write_bytes(hour_file(WORLD, LIVED[LATE], 15))
            if number in (REPLACED, REPLACED_ON):
                world = World(events=24) if number == REPLACED else WORLD
                (lived.archive / replaced).write_bytes(hour_file(world, LIVED[REPLACED], 12))
            before = len(lived.requests())
            live(lived, number, day)
            requests.append(lived.requests()[before:])
        refreshed = list(lived.instance.get_runs(RunsFilter(job_name="refresh_what_changed")))
    assert not lived.empty
    assert lived.looks > TICKS
    for number, answers in enumerate(requests):
        if number != DOWN:
            assert (f"{late} 404" in answers) == (LATE <= number < LATE_UNTIL)
            assert (f"{missing} 404" in answers) == (number >= MISSING)
    assert f"{replaced} 200" in requests[REPLACED]
    assert f"{replaced} 200" in requests[REPLACED_ON]
    # The sensor asked for one run when the network's day came, and for one when its late hour did.
    assert [run.status for run in refreshed] == [DagsterRunStatus.SUCCESS] * 2

    replay = environment(tmp_path / "replay", **SETTINGS, LDG_GHARCHIVE_URL=str(lived.archive))
    run_ldg("follow", "--from", str(LIVED[1]), "--to", str(LIVED[-1]), environment=replay)
    for table in TABLES:
        assert rows(lived.lake, table) == rows(Lake(tmp_path / "replay"), table), table


def live(lived: Fortnight, number: int, day: date) -> None:
    """One day: the clock comes to the tick, and a run follows the day, after all that goes wrong."""
    if number == DOWN:
        lived.end("archive")
    tick = day + timedelta(days=1)
    answered = len(lived.requests())
    lived.set_clock(datetime(tick.year, tick.month, tick.day, 12, 45))
    victim = KILLED.get(number)
    if victim is not None:
        wait_for(moment_to_strike(lived, day, victim, answered))
        lived.kill(victim)
    if number == DOWN:
        wait_for(lambda: any(run.is_finished for run in lived.runs_of(day)), pause=1)
        lived.start("archive")
    else:
        wait_for(lambda: any(run.is_success for run in lived.runs_of(day)), pause=1)


def moment_to_strike(lived: Fortnight, day: date, victim: str, answered: int) -> Callable[[], object]:
    """When to kill: a run while it makes the day, the archive while it answers, a service while a run is."""
    if victim == "run":
        return lambda: holder(lived.lake.lock("datasets", "following"))
    if victim == "archive":
        return lambda: len(lived.requests()) > answered
    return lambda: any(run.status == DagsterRunStatus.STARTED for run in lived.runs_of(day))


def rows(lake: Lake, table: str) -> list[tuple]:
    """A table of the track record; that a row was revised is the one thing a replay cannot know."""
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        columns = warehouse.sql(f"from {table} limit 0").columns
        listed = ", ".join(f'"{name}"' for name in columns if name != "revised")
        return warehouse.sql(f"select {listed} from {table} order by all").fetchall()
