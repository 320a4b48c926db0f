"""Execution of tasks: sequentially in this process, or on the workers of a cluster."""

from collections.abc import Iterable, Iterator

from pipeline.cluster.task import Log, Made, Task
from pipeline.lake import Lake


def run_tasks(
    tasks: Iterable[Task[Made]], lake: Lake, cluster: str, log: Log | None = None
) -> Iterator[tuple[Task[Made], Made]]:
    """Run `tasks` on the home of `lake` and yield each with its result, in order of completion.

    Without a `cluster` (its scheduler's address) tasks run in this process, in order; with one, on its
    workers. A task is taken from the iterator only when it can start, so the iterator may depend on earlier
    results. The first error is raised and running tasks are cancelled; finished work stays in the home, so
    the same call resumes. Log lines and progress of workers arrive in this process.
    """
    if not cluster:
        for task in tasks:
            yield task, task.run(lake, log)
        return
    from pipeline.cluster.client import run_there  # `distributed` is an extra

    yield from run_there(tasks, lake, cluster, log)


def run_task(task: Task[Made], lake: Lake, cluster: str, log: Log | None = None) -> Made:
    """Run one task in this process or on the cluster; return its result."""
    ((_, result),) = run_tasks([task], lake, cluster, log)
    return result
