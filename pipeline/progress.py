"""Progress of long work: a bar in a terminal, log lines with rate and remaining time for the Dagster UI.

A watcher (`watched_by`) receives the state several times per second instead of the bar.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from pipeline.text import duration

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_GLANCES = 0.3
DRAWING = Lock()


@dataclass(frozen=True)
class State:
    """Progress of some work: `done` of `total` units after `seconds`; the last state has `ended` set."""

    label: str
    done: int
    total: int
    unit: str
    seconds: float
    note: str = ""
    ended: bool = False

    def __str__(self) -> str:
        if not self.total:
            return self.label
        rate = self.done / max(self.seconds, 1e-9)
        left = f", {duration((self.total - self.done) / rate)} left" if 0 < self.done < self.total else ""
        note = f" · {self.note}" if self.note else ""
        return f"{self.label}: {self.done:,}/{self.total:,} {self.unit} ({rate:,.1f}/s{left}){note}"


Item = TypeVar("Item")
Watcher = Callable[[State], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Generator[None]:
    """Send the state of all work that begins in this context to `watcher`."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def announce(line: str, *, ended: bool = False) -> None:
    """Show a status line without a counter (for example, the lock waited for) until it has `ended`."""
    pass_on(State(line, 0, 0, "", 0.0, ended=ended))


def pass_on(state: State) -> None:
    """Send the state of work done elsewhere to the watcher, if there is one."""
    if watcher := _watcher.get():
        watcher(state)


@lru_cache
def terminal_bars() -> Bars:
    """Return the bars of this process, which share one display on standard error."""
    text = TextColumn("{task.description}", markup=False)
    to_terminal = sys.stdout.isatty()  # what is printed elsewhere must not pass through the display
    return Bars(
        BarColumn(20), text, console=Console(stderr=True), transient=True, redirect_stdout=to_terminal
    )


def new_bar() -> Watcher:
    """Return a watcher that draws the states of one piece of work as a bar until it ends."""
    bars = terminal_bars()
    tasks: list[TaskID] = []

    def draw(state: State) -> None:
        with DRAWING:
            if not state.ended:
                if not tasks:
                    tasks.append(bars.add_task("", total=state.total or None))
                bars.update(tasks[0], completed=state.done, description=str(state))
                bars.start()
            elif tasks:
                bars.remove_task(tasks.pop())
                if not bars.tasks:
                    bars.stop()

    return draw


class Progress:
    """A counter of finished units of work that reports its progress.

    It draws a bar if standard error is a terminal and no watcher is set. With `log` (for instance
    `context.log.info` of a Dagster asset) it writes a line at most every ten seconds and one at the end.
    """

    def __init__(self, label: str, total: int, unit: str, log: Callable[[str], None] | None = None) -> None:
        self.label, self.total, self.unit, self.log = label, total, unit, log
        self.done = 0
        self.note = ""
        self.started = self.last_line = self.last_glance = time.monotonic()
        self.watcher = _watcher.get() or (new_bar() if sys.stderr.isatty() else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = self.state(time.monotonic(), ended=True)
        if self.watcher is not None:
            self.watcher(state)
        if self.log is not None and error is None:
            self.log(str(state))

    def advance(self, units: int = 1, note: str = "") -> None:
        """Count `units` as done; `note` (for instance the loss) is shown beside the count."""
        self.done += units
        self.note = note or self.note
        now = time.monotonic()
        if self.watcher is not None and now - self.last_glance >= SECONDS_BETWEEN_GLANCES:
            self.last_glance = now
            self.watcher(self.state(now))
        if self.log is not None and now - self.last_line >= SECONDS_BETWEEN_LINES and self.done < self.total:
            self.last_line = now
            self.log(str(self.state(now)))

    def state(self, now: float, *, ended: bool = False) -> State:
        """Return the state at `now`, a time of the monotonic clock."""
        return State(self.label, self.done, self.total, self.unit, now - self.started, self.note, ended)


def counted(
    items: Iterable[Item], total: int, label: str, unit: str, log: Callable[[str], None] | None = None
) -> Iterator[Item]:
    """Yield `items`; each counts as done when the next is requested."""
    with Progress(label, total, unit, log) as progress:
        for item in items:
            yield item
            progress.advance()
