"""Where Dagster finds a home's store, as its processes are told; without Dagster, whose import takes seconds:
`ldg serve` and `ldg dev` only become one of these processes.
"""

from pathlib import Path

from pipeline.settings import DAGSTER_STORAGE, Settings

PROJECT = Path(__file__).parents[1]


def dagster_environment(settings: Settings) -> dict[str, str]:
    """Environment variables for every Dagster process of a home; makes the folder for what they store."""
    folder = dagster_folder(settings)
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "DAGSTER_HOME": str(PROJECT),  # where dagster.yaml is
        DAGSTER_STORAGE: str(folder),
        "LDG_HOME": str(settings.home.resolve()),
        "LDG_STORE": settings.store,
        # A backfill waits for a code server that is being started again, instead of failing.
        "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "yes",
    }


def limit_trainings(settings: Settings) -> None:
    """Give Dagster's pool `training` a place for each of the home's LDG_TRAININGS slots.

    A run that the queue starts then finds a slot, and a run that would wait for one stays in the queue. This
    process must have the variables of `dagster_environment`.
    """
    from dagster import DagsterInstance

    with DagsterInstance.get() as instance:
        instance.event_log_storage.set_concurrency_slots("training", settings.trainings)


def dagster_folder(settings: Settings) -> Path:
    """Where a home keeps logs of runs, and without a database the runs themselves."""
    return settings.home.resolve() / "dagster"
