"""Who watches a headless run sees what it is at: bars in a terminal, lines in a pipe."""

import io

import pytest
from rich.console import Console

from assets.headless.board import Board
from pipeline.progress import Progress, State, watched_by
from tests.whole_system import wait_for

HALF = State("train dyrep-concat", done=50, total=100, unit="events", seconds=10.0, note="epoch 2")


def test_in_a_pipe_a_line_tells_what_is_at_work_and_how_far_it_is() -> None:
    text = io.StringIO()
    with (
        Board(Console(file=text, width=200), seconds_between_lines=0.01) as board,
        board.shows("github/trained_models dyrep-concat"),
        board.shows("github/subnetwork"),
    ):
        board.tell("github/trained_models dyrep-concat", HALF)
        wait_for(lambda: "50/100" in text.getvalue())
    line = next(line for line in text.getvalue().splitlines() if "50/100" in line)
    assert line.startswith(
        "     at work  github/trained_models dyrep-concat, 0 s so far, train dyrep-concat: "
    )
    assert "50/100 events (5.0/s, 10 s left) · epoch 2" in line
    assert line.endswith("; github/subnetwork, 0 s so far")


def test_nothing_is_printed_in_a_pipe_while_nothing_is_at_work() -> None:
    text = io.StringIO()
    with Board(Console(file=text), seconds_between_lines=0.01) as board:
        with board.shows("github/subnetwork"):
            wait_for(lambda: "\n" in text.getvalue())
        printed = text.getvalue()
        board.tell("github/subnetwork", HALF)
        board.over.wait(0.2)
    assert text.getvalue() == printed


def test_in_a_terminal_each_training_has_a_bar_that_goes_when_it_ends() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=200)
    with Board(console) as board, board.shows("one"), board.shows("other"):
        board.tell("one", HALF)
        board.bars.refresh()
        assert "50/100 events (5.0/s, 10 s left)" in text.getvalue()
        assert "other" in text.getvalue()
        board.tell("one", State("train", 100, 100, "events", 20.0, ended=True))
        assert [task.description for task in board.bars.tasks] == ["one", "other"]
    assert board.bars.tasks == []


def test_work_tells_whoever_watches_it_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.progress.SECONDS_BETWEEN_GLANCES", 0.0)
    seen: list[State] = []
    with watched_by(seen.append), Progress("read", 2, "hours") as progress:
        progress.advance(note="first")
        progress.advance()
    with Progress("unwatched", 1, "hours") as progress:
        progress.advance()
    assert [(state.done, state.note, state.ended) for state in seen] == [
        (1, "first", False),
        (2, "first", False),
        (2, "first", True),
    ]
