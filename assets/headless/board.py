"""Progress display of a headless run: a bar per piece of work in a terminal, else a line per minute."""

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
    """The running work by name, with its reported progress; thread-safe."""

    def __init__(self, console: Console, seconds_between_lines: float = SECONDS_BETWEEN_LINES) -> None:
        self.console, self.seconds_between_lines = console, seconds_between_lines
        self.states: dict[str, dict[str, State]] = {}  # by name, then by label: work may have parts
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
        """Show `name` as running within this context."""
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
        """Update the progress of `name`; an ended state removes its part. Unknown names are ignored."""
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
        """Print the running work every `seconds_between_lines` until the board is closed."""
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
