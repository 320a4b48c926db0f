"""The Dagster instance of a home: its folder, its `dagster.yaml` and the environment of its processes.

This module does not import Dagster, which takes seconds: `ldg serve` and `ldg dev` only start its processes.
"""

from pathlib import Path

from pipeline.lake import write_text
from pipeline.settings import Settings

PROJECT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("dagster.yaml")
WORKSPACE = Path(__file__).with_name("workspace.yaml")


def dagster_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of every Dagster process of a home; update its `dagster.yaml`."""
    folder = dagster_folder(settings)
    instance, template = folder / "dagster.yaml", TEMPLATE.read_text(encoding="utf-8")
    if not instance.exists() or instance.read_text(encoding="utf-8") != template:
        write_text(template, instance)
    return {
        "DAGSTER_HOME": str(folder),
        "LDG_HOME": str(settings.home.resolve()),
        "LDG_STORE": settings.store,
        # A backfill waits while the code server restarts, instead of failing.
        "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "yes",
    }


def limit_trainings(settings: Settings) -> None:
    """Set the size of Dagster's pool `training` to LDG_TRAININGS, the number of the home's slots.

    A run that would have to wait for a slot then stays in the queue. This process must have the variables of
    `dagster_environment`.
    """
    from dagster import DagsterInstance

    with DagsterInstance.get() as instance:
        instance.event_log_storage.set_concurrency_slots("training", settings.trainings)


def dagster_folder(settings: Settings) -> Path:
    """Return the folder of run logs and, unless LDG_STORE names a database, of the run history."""
    return settings.home.resolve() / "dagster"
