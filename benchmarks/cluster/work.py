"""The work of a cluster that is measured or disturbed: days of an archive, and trainings."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from model.identity import TrainingSettings
from pipeline.cluster.task import Task
from pipeline.following.bring import read_changed
from pipeline.following.window import Window
from pipeline.lake import Lake
from pipeline.sources.gharchive.days import bring_alone, in_turn
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.normalize import EventRules
from tests.cluster_tasks import LATER, TOY, days_made, model_made, training


@dataclass(frozen=True)
class Days:
    """Days of the archive in a folder, fetched and read."""

    archive: Path
    days: Window

    def tasks(self, cluster: str) -> list[Task]:
        """A task a day, in the order of a cluster or of none."""
        settings = FetchSettings(base=str(self.archive))
        use = partial(
            read_changed,
            rules=EventRules(),
            keep_raw=False,
            work="a benchmark",
            fetching=settings,
            now=LATER,
        )
        return [
            Task(str(day), bring_alone, (day, settings, use, LATER, (0, ""), "a benchmark"))
            for day in in_turn(list(self.days), cluster)
        ]

    def made(self, lake: Lake) -> dict[str, object]:
        """Every file that came of it."""
        return dict(days_made(lake))

    def remove(self, lake: Lake) -> None:
        """Nothing of it was ever made."""
        remove((lake.github_events, lake.github_quarantine, lake.github_accounts, lake.gharchive_raw))


@dataclass(frozen=True)
class Trainings:
    """Variants trained on datasets, by default on the toy one; those that take longest come first."""

    keys: Sequence[str]
    settings: TrainingSettings
    datasets: Sequence[str] = (TOY,)

    def tasks(self, cluster: str) -> list[Task]:  # noqa: ARG002 - the order is that of `keys`
        """A task for each variant and dataset."""
        return [training(key, self.settings, name) for key in self.keys for name in self.datasets]

    def made(self, lake: Lake) -> dict[str, object]:
        """Every file that came of it, save for what tells of the run alone."""
        return {
            f"{name}/{key}/{file}": content
            for name in self.datasets
            for key in self.keys
            for file, content in model_made(lake, key, name).items()
        }

    def remove(self, lake: Lake) -> None:
        """Nothing of it was ever made."""
        remove([lake.models])


Work = Days | Trainings


def remove(folders: Iterable[Path]) -> None:
    """Remove folders, whether or not they are there."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
