"""Waiting-time learning as a cluster task. Torch is imported only when there is something to learn."""

from typing import Any

from model.when.settings import WhenSettings, identity_of_waits, is_learned
from pipeline.cluster.task import Log, Task
from pipeline.lake import Lake
from pipeline.results.trained import present_fingerprint
from pipeline.storage import things


def waiting_times_task(dataset: str) -> Task[dict[str, Any]]:
    """Return the task that learns a dataset's waiting times; its result is waiting_times.json's content."""
    return Task(
        f"waiting times of {dataset}",
        learn_waits,
        (dataset,),
        needs=(things.event_table(dataset),),
        makes=(things.learned_waiting_times(dataset),),
    )


def learn_waits(lake: Lake, dataset: str, log: Log | None) -> dict[str, Any]:
    """Learn a dataset's waiting times unless they are up to date; return their identity."""
    wanted = wanted_waits(lake, dataset)
    if is_learned(lake.waiting_times(dataset), wanted):
        if log is not None:
            log(f"waiting times of {dataset}: already learned from this event table; nothing to do")
        return wanted
    from model.when.training import learn_waiting_times

    return learn_waiting_times(lake.dataset(dataset), lake.waiting_times(dataset), log=log)


def wanted_waits(lake: Lake, dataset: str) -> dict[str, Any]:
    """Return the identity of waiting times learned from the dataset's current event table."""
    return identity_of_waits(dataset, present_fingerprint(lake, dataset), WhenSettings())
