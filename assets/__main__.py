"""`python -m assets`: materialize everything on this home, headless, and print the paper's tables for it."""

import fcntl
import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from dagster import AssetKey, DagsterInstance, DagsterRunStatus, JobDefinition, RunsFilter
from rich.console import Console

from assets.definitions import build_definitions
from assets.partitions import DAYS_A_RUN
from assets.results import RESULTS
from assets.rules import datasets
from model.variants import variants_for
from pipeline.datasets import DatasetSpec
from pipeline.settings import Settings
from pipeline.terminal import print_tables

# A run's own events go to the instance, where the UI shows them; the terminal gets a line a run.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

HEADLESS = {"ldg/headless": "yes"}
NOOP_LOGS = "dagster._core.storage.noop_compute_log_manager"
PROJECT = Path(__file__).parents[1]

Step = tuple[Sequence[AssetKey], str | None, dict[str, str]]  # assets, partition, tags of one run


def main() -> None:
    """Run the DAG in its order and say where everything is."""
    # Tables keep their shape in a log file, which has no width of its own.
    settings, console = Settings.load(), Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    job = build_definitions(settings).resolve_implicit_global_asset_job_def()
    started = time.monotonic()
    with instance_of(settings) as instance, alone(settings):
        bury_dead_runs(instance)
        for step in steps(settings, console):
            try:
                run(step, job, instance, console)
            except Exception as error:
                sys.exit(f"{named(step)} failed: {error}\nThe whole story is in the UI: {ui(settings)}")
    print_tables(settings.lake, console)
    console.print(f"\nDone in {time.monotonic() - started:.0f} s.")
    console.print(f"  warehouse  {settings.lake.warehouse}")
    console.print(f"  report     {settings.lake.report}")
    console.print(f"  UI         {ui(settings)}")
    # What training leaves behind makes DuckDB's bindings report themselves as leaked at a regular exit.
    sys.stdout.flush()
    os._exit(0)


def instance_of(settings: Settings) -> DagsterInstance:
    """The instance of `make dev` on this home, except that steps write to this terminal and not to a log."""
    storage = settings.home.resolve() / "dagster"
    storage.mkdir(parents=True, exist_ok=True)
    os.environ["LDG_DAGSTER_STORAGE"] = str(storage)  # dagster.yaml asks for it
    to_terminal = {"compute_logs": {"module": NOOP_LOGS, "class": "NoOpComputeLogManager"}}
    return DagsterInstance.local_temp(str(PROJECT), overrides=to_terminal)


@contextmanager
def alone(settings: Settings) -> Generator[None]:
    """Hold this home's lock, which a killed process lets go of too."""
    with (settings.home / "dagster" / "headless.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"python -m assets is at work on {settings.home} already: wait for it, or end it")
        yield


def bury_dead_runs(instance: DagsterInstance) -> None:
    """Fail the runs of killed predecessors and free their pool slots: else the next step waits for ever.

    Whoever holds the lock is the only one alive, so that all headless runs that seem to go on are dead.
    """
    for dead in instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.STARTED], tags=HEADLESS)):
        instance.report_run_failed(dead, "its process is gone")
        instance.event_log_storage.free_concurrency_slots_for_run(dead.run_id)


def steps(settings: Settings, console: Console) -> Iterator[Step]:
    """The runs that make everything: sources, then each dataset's chain, then the results."""
    for spec in datasets(settings):
        if spec.source == "social_evolution" and not settings.social_evolution:
            console.print(f"{spec.name}: left out, LDG_SOCIAL_EVOLUTION names no source")
            continue
        yield from source_steps(spec, settings)
        yield [AssetKey([spec.name, step]) for step in ("event_table", "no_learn_baselines")], None, {}
        for variant in variants_for(spec.relations):
            if variant.name in settings.variants:
                yield [AssetKey([spec.name, "trained_models"])], variant.key, {}
    yield [AssetKey(name) for name in RESULTS], None, {}


def source_steps(spec: DatasetSpec, settings: Settings) -> Iterator[Step]:
    """The runs that bring a dataset's raw material."""
    if spec.source == "github":
        day = settings.github_history
        while day <= settings.github_end:
            last = min(day + timedelta(days=DAYS_A_RUN - 1), settings.github_end)
            yield [AssetKey("gharchive_files"), AssetKey("github_events")], None, day_range(day, last)
            day = last + timedelta(days=1)
        yield [AssetKey(["github", "subnetwork"])], None, {}
    if spec.source == "social_evolution":
        yield [AssetKey("social_evolution_files")], None, {}


def day_range(first: date, last: date) -> dict[str, str]:
    """Tags that let one run cover the file days from `first` to `last`."""
    return {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }


def run(step: Step, job: JobDefinition, instance: DagsterInstance, console: Console) -> None:
    """Materialize in this process, and say what and how long."""
    assets, partition, tags = step
    started = time.monotonic()
    job.execute_in_process(
        asset_selection=assets,
        partition_key=partition,
        tags={**tags, **HEADLESS},
        instance=instance,
        run_config=QUIET,
    )
    console.print(f"  {time.monotonic() - started:6.1f} s  {named(step)}")


def named(step: Step) -> str:
    """What a run makes, in a line."""
    assets, partition, tags = step
    names = ", ".join(key.to_user_string() for key in assets)
    return f"{names} {partition or ' … '.join(tags.values())}".strip()


def ui(settings: Settings) -> str:
    """The command that opens this home in the UI."""
    return f"make dev LDG_HOME={settings.home}"


if __name__ == "__main__":
    main()
