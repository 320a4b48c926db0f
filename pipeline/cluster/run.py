"""Tasks done here or there: one after the other in this process, or on the workers of a cluster."""

from collections.abc import Iterable, Iterator

from pipeline.cluster.task import Log, Made, Task
from pipeline.lake import Lake


def run_tasks(
    tasks: Iterable[Task[Made]], lake: Lake, cluster: str, log: Log | None = None
) -> Iterator[tuple[Task[Made], Made]]:
    """Do `tasks` on the home of `lake` and yield each with what it returned, as they end.

    Without a `cluster` (its scheduler's address) they are done in this process, in their order. On one they
    are done by its workers, as many at a time as it has. Each is asked for only when it can start, so that an
    iterator may look at what the earlier ones returned. The first that fails raises its error, and those at
    work are called off: what is in the home stays, and the same tasks go on from there. Lines for `log`, and
    states for whoever watches, arrive here wherever the work is done.
    """
    if not cluster:
        for task in tasks:
            yield task, task.run(lake, log)
        return
    from pipeline.cluster.client import run_there  # `distributed` is an extra

    yield from run_there(tasks, lake, cluster, log)


def run_task(task: Task[Made], lake: Lake, cluster: str, log: Log | None = None) -> Made:
    """Do one task, here or there; return what it returned."""
    ((_, result),) = run_tasks([task], lake, cluster, log)
    return result
