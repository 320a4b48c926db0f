"""What a headless run is at: a bar for each piece of work in a terminal, one line per minute in a pipe."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pipeline.progress import State
from pipeline.text import duration

SECONDS_BETWEEN_LINES = 60.0


class Board:
    """The work that is going on, by name, each with how far it is if it says so. Safe for threads."""

    def __init__(self, console: Console, seconds_between_lines: float = SECONDS_BETWEEN_LINES) -> None:
        self.console, self.seconds_between_lines = console, seconds_between_lines
        self.states: dict[str, dict[str, State]] = {}  # by name, then by label: work may be part of work
        self.since: dict[str, float] = {}
        self.lock, self.over = Lock(), Event()
        self.bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}
        self.lines = Thread(target=self.print_lines, daemon=True)

    def __enter__(self) -> Self:
        self.bars.start()
        if not self.console.is_terminal:
            self.lines.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.bars.stop()

    @contextmanager
    def shows(self, name: str) -> Generator[None]:
        """Show `name` as at work, in here."""
        with self.lock:
            self.states[name], self.since[name] = {}, time.monotonic()
            self.tasks[name] = self.bars.add_task(name, total=None, state="")
        try:
            yield
        finally:
            with self.lock:
                del self.states[name], self.since[name]
                self.bars.remove_task(self.tasks.pop(name))

    def tell(self, name: str, state: State) -> None:
        """`name` is so far, or a part of its work has ended."""
        with self.lock:
            if name not in self.states:
                return
            states = self.states[name]
            if state.ended:
                states.pop(state.label, None)
            else:
                states[state.label] = state
            whole = next(iter(states.values()), None)
            done, total = (whole.done, whole.total) if whole else (0, None)
            shown = ", ".join(map(str, states.values()))
            self.bars.update(self.tasks[name], completed=done, total=total, state=shown)

    def print_lines(self) -> None:
        """Print a line every minute until all is over, if something is at work."""
        while not self.over.wait(self.seconds_between_lines):
            with self.lock:
                now = time.monotonic()
                work = [
                    ", ".join(
                        (name, f"{duration(now - self.since[name])} so far", *map(str, states.values()))
                    )
                    for name, states in self.states.items()
                ]
            if work:
                self.console.print(f"{'at work':>12}  {'; '.join(work)}", markup=False, soft_wrap=True)
