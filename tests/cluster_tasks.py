"""Tasks for a cluster under test: work that is disturbed, or that cannot be done."""

import json
import os
import signal
import sys
from datetime import date, datetime
from pathlib import Path
from threading import Timer
from typing import Any

from safetensors import safe_open

from model.identity import TrainingSettings
from model.training_task import training_task
from pipeline.cluster.run import run_task
from pipeline.cluster.task import Log, Task
from pipeline.following.window import Window
from pipeline.lake import Lake
from pipeline.progress import Progress
from pipeline.variants import model_named
from tests.small_world import RELATIONS, store_table
from tests.todays_archive import World, write_days

WORLD = World(people=6, circle=6, crowd=5, events=48)
DAYS = Window(date(2026, 6, 1), date(2026, 6, 4))
LATER = datetime(2026, 7, 1)
# A checkpoint after every batch: a kill at any moment has something to go on from.
SETTINGS = TrainingSettings(seeds=(0, 1), epochs=3, batch=40, d=8, checkpoint_minutes=0.0)
TOY, KEY = "toy", "dyrep-concat"
OF_THE_RUN = ("training_seconds", "finished_at", "commit")  # in model.json


def write_archive(folder: Path) -> None:
    """Hour files of the days."""
    write_days(folder, WORLD, DAYS)


def store_dataset(lake: Lake) -> None:
    """A dataset to train on."""
    store_table(lake, events=200)


def training(key: str, settings: TrainingSettings = SETTINGS, dataset: str = TOY) -> Task[dict[str, Any]]:
    """The training of a variant of a dataset, by default of the toy one."""
    return training_task(dataset, model_named(key, RELATIONS), settings, 1, "a test")


def days_made(lake: Lake) -> dict[str, bytes]:
    """Every file that came of the days."""
    folders = (lake.github_events, lake.github_quarantine, lake.github_accounts, lake.gharchive_raw)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(lake.home)): path.read_bytes() for path in files}


def model_made(lake: Lake, key: str = KEY, dataset: str = TOY) -> dict[str, object]:
    """Everything but times; of a safetensors file the order of its header's words is left to chance."""
    made: dict[str, object] = {}
    for path in lake.model(dataset, key).iterdir():
        if path.suffix == ".safetensors":
            with safe_open(path, "numpy") as file:
                made[path.name] = file.metadata()  # with a checksum of all tensors
        elif path.name == "model.json":
            facts = json.loads(path.read_text(encoding="utf-8"))
            made[path.name] = {name: fact for name, fact in facts.items() if name not in OF_THE_RUN}
        else:
            made[path.name] = path.read_bytes()
    return made


def disturbed(task: Task, steps: int, victim: int = 0, delay: float = 0.0) -> Task:
    """`task`, in the middle of which a process is killed the first time: its own worker, or the `victim`.

    That is `delay` seconds after so many steps of its progress.
    """
    return Task(task.name, killing_once, (task, steps, delay, victim))


def was_disturbed(lake: Lake, task: Task) -> bool:
    """Whether it came to that."""
    return killed_file(lake, task).exists()


def killed_file(lake: Lake, task: Task) -> Path:
    return lake.home / f"killed in {task.name} by {task.arguments[-1]}"


def killing_once(lake: Lake, task: Task, steps: int, delay: float, victim: int, log: Log | None) -> Any:
    """Do `task`, but the first time send SIGKILL after so many steps of its progress."""
    marker = killed_file(lake, disturbed(task, steps, victim))
    if marker.exists():
        return task.run(lake, log)
    advance, left = Progress.advance, steps

    def advance_and_kill(progress: Progress, units: int = 1, note: str = "") -> None:
        nonlocal left
        advance(progress, units, note)
        left -= 1
        if not left:
            marker.touch()
            killing = victim or os.getpid(), signal.SIGKILL
            if delay:
                Timer(delay, os.kill, killing).start()
            else:
                os.kill(*killing)

    Progress.advance = advance_and_kill  # ty: ignore[invalid-assignment]
    try:
        return task.run(lake, log)
    finally:
        Progress.advance = advance


def fail(lake: Lake, log: Log | None) -> None:
    """A task with an error of its own."""
    raise ValueError(f"nothing can be made of {lake.home.name}")


def die(lake: Lake, log: Log | None) -> None:
    """A task that ends whatever process does it."""
    os.kill(os.getpid(), signal.SIGKILL)


def work(lake: Lake, steps: int, log: Log | None) -> int:
    """Count, and tell so."""
    with Progress("count", steps, "steps", log) as progress:
        for _ in range(steps):
            progress.advance()
    return os.getpid()


if __name__ == "__main__":  # a client that is killed in the middle of a training
    home, address, key = sys.argv[1:]
    run_task(disturbed(training(key), 7, victim=os.getpid()), Lake(Path(home)), address)
