"""Progress is told in log lines with rate and remaining time."""

import os
import pty
import subprocess
import sys

import pytest

from pipeline import progress
from pipeline.progress import Progress
from pipeline.text import duration


def test_lines_tell_count_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 20.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines: list[str] = []
    with Progress("reading", total=4, unit="files", log=lines.append) as reading:
        reading.advance(2, note="2013-02-15")
        assert lines == ["reading: 2/4 files (0.1/s, 20 s left) · 2013-02-15"]
        reading.done = 4
    assert lines[-1] == "reading: 4/4 files (0.1/s) · 2013-02-15"


def test_no_last_line_is_written_for_work_that_failed() -> None:
    lines: list[str] = []
    with pytest.raises(RuntimeError), Progress("reading", total=1, unit="files", log=lines.append):
        raise RuntimeError
    assert lines == []


WORK_IN_WORK = """
from pipeline import progress
progress.SECONDS_BETWEEN_GLANCES = 0
with progress.Progress("days", 2, "files") as days, progress.Progress("hours", 3, "hours") as hours:
    days.advance()
    hours.advance()
    progress.terminal_bars().refresh()
    print("a result")
"""


def test_work_within_work_has_two_bars_in_a_terminal_and_none_in_what_is_printed() -> None:
    ours, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", WORK_IN_WORK],
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    drawn = os.read(ours, 1 << 16).decode()
    os.close(terminal)
    os.close(ours)
    assert "days: 1/2 files" in drawn
    assert "hours: 1/3 hours" in drawn
    assert done.stdout == b"a result\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (45, "45 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h"),
        (6120, "1 h 42 min"),
        (7199, "2 h"),
    ],
)
def test_a_duration_is_said_as_a_person_says_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text
