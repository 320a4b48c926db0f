"""Learning waiting times as a task: any process that sees the home can do it. Imports no torch by itself."""

from typing import Any

from model.when.settings import WhenSettings, identity_of_waits, is_learned
from pipeline.cluster.task import Log, Task
from pipeline.lake import Lake
from pipeline.results.trained import present_fingerprint
from pipeline.storage import things


def waiting_times_task(dataset: str) -> Task[dict[str, Any]]:
    """Learn when nodes and pairs of a dataset have their next event; it returns waiting_times.json."""
    return Task(
        f"waiting times of {dataset}",
        learn_waits,
        (dataset,),
        needs=(things.event_table(dataset),),
        makes=(things.learned_waiting_times(dataset),),
    )


def learn_waits(lake: Lake, dataset: str, log: Log | None) -> dict[str, Any]:
    """The task: what was learned from this event table before costs no import of torch."""
    wanted = wanted_waits(lake, dataset)
    if is_learned(lake.waiting_times(dataset), wanted):
        if log is not None:
            log(f"waiting times of {dataset}: already learned from this event table; nothing to do")
        return wanted
    from model.when.training import learn_waiting_times

    return learn_waiting_times(lake.dataset(dataset), lake.waiting_times(dataset), log=log)


def wanted_waits(lake: Lake, dataset: str) -> dict[str, Any]:
    """What the waiting times of a dataset are to be learned from: its event table as it is now."""
    return identity_of_waits(dataset, present_fingerprint(lake, dataset), WhenSettings())
