"""A headless run: a materialization in this process, on the instance of a home that nobody else works on."""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetKey,
    DagsterInstance,
    DagsterRunStatus,
    JobDefinition,
    RunsFilter,
)

from pipeline.progress import duration
from pipeline.settings import Settings

# A run's own events go to the instance, where the UI shows them; the terminal gets a line a run.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

HEADLESS = {"ldg/headless": "yes"}
UNFINISHED = [
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
NOOP_LOGS = "dagster._core.storage.noop_compute_log_manager"
PROJECT = Path(__file__).parents[2]
LONGEST_WAIT = 60.0  # seconds, for trainings of a killed run: they end within moments
FINDINGS_SHOWN = 10


@dataclass(frozen=True)
class Step:
    """One run: which assets it makes, of which partition, and the tags it carries."""

    assets: tuple[AssetKey, ...]
    partition: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(key.to_user_string() for key in self.assets)
        return f"{names} {self.partition or ' … '.join(self.tags.values())}".strip()


class FailedCheckError(Exception):
    """What was made is not as it must be; the message says what the checks found."""


def instance_of(settings: Settings) -> DagsterInstance:
    """The instance of `make dev` on this home, except that steps write to this terminal and not to a log, and
    wait for no slot of a pool: a run here knows itself how much goes on side by side, and must not wait for
    one that a dead run of the UI holds.
    """
    storage = settings.home.resolve() / "dagster"
    storage.mkdir(parents=True, exist_ok=True)
    os.environ["LDG_DAGSTER_STORAGE"] = str(storage)  # dagster.yaml asks for it
    overrides = {
        "compute_logs": {"module": NOOP_LOGS, "class": "NoOpComputeLogManager"},
        "concurrency": {"pools": {"granularity": "run"}},  # slots are then claimed by the UI's queue alone
    }
    return DagsterInstance.local_temp(str(PROJECT), overrides=overrides)


@contextmanager
def alone(settings: Settings, tell: Callable[[str], None]) -> Generator[int]:
    """Hold this home's lock; yields its file descriptor, for children to inherit.

    The lock is let go of when the last process that has it is gone, killed or not. Trainings of a killed run
    may take a moment to notice, so this waits for a while before it gives up.
    """
    path = settings.home / "dagster" / "headless.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        deadline = time.monotonic() + LONGEST_WAIT
        told = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    sys.exit(
                        f"python -m assets is at work on {settings.home} already: wait for it, or end it"
                    )
            if not told:
                told = True
                tell(
                    f"python -m assets is at work on {settings.home}, or its trainings are just ending: "
                    f"waiting up to {duration(LONGEST_WAIT)}"
                )
            time.sleep(0.2)
        yield lock.fileno()


def bury_dead_runs(instance: DagsterInstance) -> None:
    """Fail the runs of killed predecessors, and free the pool slots they may hold.

    Whoever holds the lock is the only one alive, so that all headless runs that seem to go on are dead.
    """
    for dead in instance.get_runs(RunsFilter(statuses=UNFINISHED, tags=HEADLESS)):
        instance.report_run_failed(dead, "its process is gone")
        instance.event_log_storage.free_concurrency_slots_for_run(dead.run_id)


def materialize(step: Step, job: JobDefinition, instance: DagsterInstance) -> list[str]:
    """Make `step`'s assets in this process; what failed checks of severity WARN found.

    A failed check of severity ERROR is an error here too.
    """
    done = job.execute_in_process(
        asset_selection=step.assets,
        partition_key=step.partition,
        tags={**step.tags, **HEADLESS},
        instance=instance,
        run_config=QUIET,
    )
    failed = [check for check in done.get_asset_check_evaluations() if not check.passed]
    if wrong := findings(failed, AssetCheckSeverity.ERROR):
        raise FailedCheckError("\n".join(wrong))
    return findings(failed, AssetCheckSeverity.WARN)


def findings(failed: Iterable[AssetCheckEvaluation], severity: AssetCheckSeverity) -> list[str]:
    """What failed checks of this severity found, a line each."""
    return [
        f"check {check.check_name} of {check.asset_key.to_user_string()} failed: "
        + "; ".join(f"{name} {said(found.value)}" for name, found in check.metadata.items())
        for check in failed
        if check.severity is severity
    ]


def said(found: object) -> str:
    """A check's finding in words; of a long list, its beginning."""
    if not isinstance(found, list):
        return str(found)
    more = f" and {len(found) - FINDINGS_SHOWN} more" if len(found) > FINDINGS_SHOWN else ""
    return ", ".join(map(str, found[:FINDINGS_SHOWN])) + more
