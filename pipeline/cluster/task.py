"""A task: a named piece of work that any process can do which sees the home, or what of it is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pipeline.lake import Lake
from pipeline.storage.things import Thing

Log = Callable[[str], None]
Made = TypeVar("Made")


class ClusterError(OSError):
    """The cluster cannot do what it is asked for; the message says what to do."""


@dataclass(frozen=True)
class Task(Generic[Made]):
    """`function(lake, *arguments, log=…)`, a function of a module. What it makes it leaves in the home, whole
    or not at all, so that it may be run again wherever it was stopped.

    With `makes`, a worker with a home of its own may do it: by the storage that both homes share, `needs` and
    `makes` are brought there before, and `makes` to the client's home after.
    """

    name: str
    function: Callable[..., Made]
    arguments: tuple[object, ...] = ()
    needs: tuple[Thing, ...] = ()
    makes: tuple[Thing, ...] = ()

    def run(self, lake: Lake, log: Log | None) -> Made:
        """Do it here and now."""
        return self.function(lake, *self.arguments, log=log)
