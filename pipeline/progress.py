"""Progress of long work: a bar in a terminal, log lines with rate and remaining time for the Dagster UI."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 10.0


def duration(seconds: float) -> str:
    """A span of time as a person says it: `45 s`, `3 min 20 s`, `1 h 42 min`."""
    whole = round(max(seconds, 0))
    if whole < 60:
        return f"{whole} s"
    large, small, units = (
        (*divmod(whole, 60), ("min", "s")) if whole < 3600 else (*divmod(round(whole / 60), 60), ("h", "min"))
    )
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")


class Progress:
    """Counts finished units of work and reports them.

    It draws a bar when standard error is a terminal. With `log` (for instance `context.log.info` of a Dagster
    asset) it writes a line at most every ten seconds and one at the end.
    """

    def __init__(self, label: str, total: int, unit: str, log: Callable[[str], None] | None = None) -> None:
        self.label, self.total, self.unit, self.log = label, total, unit, log
        self.done = 0
        self.note = ""
        self.started = self.logged = time.monotonic()
        hidden = not sys.stderr.isatty()
        self.bar = tqdm(total=total, desc=label, unit=unit, disable=hidden, unit_scale=True, leave=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.close()
        if self.log is not None and error is None:
            self.log(self.line())

    def advance(self, units: int = 1, note: str = "") -> None:
        """Count `units` as done; `note` (for instance the loss) is shown beside the count."""
        self.done += units
        self.note = note or self.note
        self.bar.set_postfix_str(self.note, refresh=False)
        self.bar.update(units)
        now = time.monotonic()
        if self.log is not None and now - self.logged >= SECONDS_BETWEEN_LINES and self.done < self.total:
            self.logged = now
            self.log(self.line())

    def line(self) -> str:
        """The state of the work in one line."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        rate = self.done / seconds
        left = f", {duration((self.total - self.done) / rate)} left" if 0 < self.done < self.total else ""
        note = f" · {self.note}" if self.note else ""
        return f"{self.label}: {self.done:,}/{self.total:,} {self.unit} ({rate:,.1f}/s{left}){note}"
