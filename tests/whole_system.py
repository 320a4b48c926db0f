"""The whole system as `make run` runs it: modules in their own processes, with the environment of a home."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from assets.dagster_home import dagster_environment
from pipeline.settings import Settings
from pipeline.sources.sample import build
from tests.forks import FORKS, ROOT, Ldg

PATIENCE = 600.0  # seconds: no test is about speed
OF_A_SERVER = 1.0  # seconds between two questions to a server: its answers cost processor time

# Five days of the sample world, its busiest people alone and one model of one relation, in both interactions
# at once: all that a run does, and little work.
FEW_DAYS = {
    "LDG_DATASETS": "github",
    "LDG_GITHUB_HISTORY": "2014-12-23",
    "LDG_GITHUB_END": "2014-12-27",
    "LDG_GITHUB_SPLIT": "2014-12-26",
    "LDG_GITHUB_MIN_COMMUNICATIONS": "16",
    "LDG_GITHUB_MIN_ASSOCIATIONS": "0",
    "LDG_VARIANTS": "dyrep",
    "LDG_SEEDS": "1",
    "LDG_EPOCHS": "3",
    "LDG_TRAININGS": "2",
}


def environment(home: Path, **more: str) -> dict[str, str]:
    """What the Makefile sets for a home, and nothing of the machine's own settings."""
    foreign = ("LDG_", "DAGSTER_")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    dagster_home = dagster_environment(Settings(home=home))["DAGSTER_HOME"]
    return {**inherited, "LDG_HOME": str(home), "DAGSTER_HOME": dagster_home, **more}


def copy_world(built_world: Path, home: Path) -> None:
    """The sample world in another home, as `ldg sample` leaves it there."""
    shutil.copytree(built_world, home)
    build(home)  # points the settings to their new place


def start_module(
    module: str,
    *arguments: str,
    environment: Mapping[str, str],
    interrupts: signal.Handlers = signal.SIG_DFL,
    output: Path | None = None,
) -> subprocess.Popen[str]:
    """Start `python -m module` in the project's folder, its output and errors in one pipe, or in a file.

    What it does about SIGINT at first is never inherited from the tests: a shell may have started them in the
    background, where SIGINT is ignored.
    """
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE if output is None else output.open("w"),
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
    )


def run_module(module: str, *arguments: str, environment: Mapping[str, str]) -> str:
    """Run `python -m module` in the project's folder; its output is shown when it fails."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def start_ldg(
    *arguments: str,
    environment: Mapping[str, str],
    interrupts: signal.Handlers = signal.SIG_DFL,
    output: Path | None = None,
) -> Ldg:
    """Start `python -m assets`, as `start_module` would; it has imported all that it needs."""
    return Ldg(arguments, environment, interrupts, output)


def run_ldg(*arguments: str, environment: Mapping[str, str], folder: Path = ROOT) -> str:
    """Run `python -m assets` in a folder; its output is shown when it fails."""
    process = Ldg(arguments, environment, folder=folder)
    printed, _ = process.communicate(3 * PATIENCE)
    assert process.returncode == 0, printed[-8000:]
    return printed


def run_at_once(work: Callable[..., None], *arguments: object, processes: int) -> list[int | None]:
    """Call `work(*arguments, together)` in so many processes that meet at the barrier; their exit codes.

    They are no forks of this process: these would take along the locks that threads of the tests hold,
    but not these threads.
    """
    together = FORKS.Barrier(processes)
    workers = [FORKS.Process(target=work, args=(*arguments, together)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    codes = [worker.exitcode for worker in workers]
    for worker in workers:
        worker.kill()
    return codes


def trainings_at_work(home: Path) -> list[psutil.Process]:
    """The processes that train on this home: forks in sessions of their own, which hold the home's lock."""
    lock, processes = str(home / "dagster" / "headless.lock"), []
    for process in psutil.process_iter():
        try:
            is_fork = "forkserver" in str(process.cmdline()) and os.getsid(process.pid) == process.pid
            if is_fork and lock in {file.path for file in process.open_files()}:
                processes.append(process)
        except (psutil.Error, ProcessLookupError):
            continue
    return processes


def wait_for(
    condition: Callable[[], object],
    process: subprocess.Popen | Ldg | None = None,
    patience: float = PATIENCE,
    pause: float = 0.05,
) -> None:
    """Wait until `condition` holds, for as long as `process` lives and a slow machine may take.

    A condition that costs something to ask is asked with a longer `pause`.
    """
    deadline = time.monotonic() + patience
    while not condition():
        assert process is None or process.poll() is None, (
            f"ended with {process.returncode} before it came to that"
        )
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(pause)
