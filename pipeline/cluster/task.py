"""Tasks: named work for any process that has access to the home, or to the parts of it that are needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pipeline.lake import Lake
from pipeline.storage.things import Thing

Log = Callable[[str], None]
Made = TypeVar("Made")


class ClusterError(OSError):
    """An error of the cluster; the message says what to do."""


@dataclass(frozen=True)
class Task(Generic[Made]):
    """A call of `function(lake, *arguments, log=…)`, a picklable function that writes to the home atomically.

    A task may be rerun after any interruption. With `makes`, a worker with its own home may run it: `needs`
    and `makes` are downloaded from the shared storage before, `makes` to the client's home afterwards.
    """

    name: str
    function: Callable[..., Made]
    arguments: tuple[object, ...] = ()
    needs: tuple[Thing, ...] = ()
    makes: tuple[Thing, ...] = ()

    def run(self, lake: Lake, log: Log | None) -> Made:
        """Run the task in this process."""
        return self.function(lake, *self.arguments, log=log)
