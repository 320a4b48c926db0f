"""Learning waiting times in a process of its own: what torch leaves behind would not end well in ours."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from model.when.settings import WhenSettings, identity_of_waits, is_learned
from pipeline.lake import Lake
from pipeline.results.trained import present_fingerprint


def learn_apart(lake: Lake, dataset: str, log: Callable[[str], None] | None) -> dict[str, Any]:
    """Learn when nodes and pairs of a dataset have their next event; return what waiting_times.json says.

    What was learned from this event table before costs no process.
    """
    folder = lake.waiting_times(dataset)
    wanted = identity_of_waits(dataset, present_fingerprint(lake, dataset), WhenSettings())
    if is_learned(folder, wanted):
        if log is not None:
            log(f"waiting times of {dataset}: already learned from this event table")
        return wanted
    process = subprocess.run(  # noqa: S603 - this interpreter, and paths of our own
        [sys.executable, "-m", "model.when", str(lake.dataset(dataset)), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if log is not None:
        log(process.stdout.rstrip())
    if process.returncode != 0:
        reason = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        raise RuntimeError(f"waiting times of {dataset} could not be learned: {reason}")
    return wanted
