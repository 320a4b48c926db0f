"""A lock keeps processes apart, names its holder, and is let go of however the holder ends."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.locks import Holder, LockedError, hold, holder
from tests.whole_system import ROOT

HOLDING = """
import subprocess, sys
from pathlib import Path
from pipeline.locks import hold

with hold(Path(sys.argv[1]), "the day is being made", "Dagster run 1a2b3c4d") as lock:
    if sys.argv[2] == "child":
        subprocess.Popen([sys.executable, "-c", "input()"], pass_fds=[lock])
    print("held", flush=True)
    input()
"""


@contextmanager
def another_process(path: Path, how: str = "itself") -> Generator[subprocess.Popen[str]]:
    """A process that holds the lock until its standard input ends; or a child of it, that inherits both."""
    command = [sys.executable, "-c", HOLDING, str(path), how]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Lake(tmp_path).lock("days", "2013-02-15")


def test_locks_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert lake.lock("days", "2013-02-15") == tmp_path / "locks" / "days" / "2013-02-15.lock"
    assert lake.lock("models", "office", "dyrep") == tmp_path / "locks" / "models" / "office" / "dyrep.lock"


def test_who_comes_second_learns_who_came_first(path: Path) -> None:
    with another_process(path) as process:
        message = (
            rf"^the day is being made by process {process.pid} \(Dagster run 1a2b3c4d\) since 20.* UTC: try"
        )
        with pytest.raises(LockedError, match=message), hold(path, "the day is being made", "mine"):
            pass
        first = holder(path)
        assert first is not None
        assert (first.process, first.host) == (process.pid, socket.gethostname())


def test_who_waits_says_so_once_and_goes_on_when_the_first_is_done(path: Path) -> None:
    lines = []
    with another_process(path) as process:

        def log(line: str) -> None:
            lines.append(line)
            assert process.stdin is not None
            process.stdin.close()

        with hold(path, "the day is being made", "mine", patience=600, log=log):
            now = holder(path)
            assert now is not None
            assert (now.process, now.work) == (os.getpid(), "mine")
    (line,) = lines
    assert f"process {process.pid} (Dagster run 1a2b3c4d)" in line
    assert line.endswith("waiting up to 10 min")


def test_patience_ends(path: Path) -> None:
    with (
        another_process(path),
        pytest.raises(LockedError, match="waited 1 s in vain: try again"),
        hold(path, "the day is being made", "mine", patience=1),
    ):
        pass


def test_a_killed_holder_leaves_nothing_that_hinders(path: Path) -> None:
    with another_process(path) as process:
        process.kill()
        process.wait()
        assert holder(path) is not None
        with hold(path, "the day is being made", "mine"):
            pass
    assert holder(path) is None


def test_a_child_that_inherits_the_lock_holds_it_after_its_parent_is_killed(path: Path) -> None:
    with another_process(path, "child") as process:
        process.kill()
        process.wait()
        happening = "the day is being made"
        with (
            pytest.raises(LockedError, match="is gone while those it started end"),
            hold(path, happening, "x"),
        ):
            pass
        assert process.stdin is not None
        process.stdin.close()
        with hold(path, happening, "mine", patience=600):
            pass


def test_threads_of_one_process_are_kept_apart_too(path: Path) -> None:
    inside = []

    def work(number: int) -> None:
        with hold(path, "it is being made", "mine", patience=600):
            inside.append(number)
            assert inside == [number]
            inside.remove(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == []


def test_a_holder_on_another_machine_is_named_with_it() -> None:
    elsewhere = Holder(4711, "elsewhere", "headless run 1a2b3c4d", datetime(2024, 5, 6, 12, 3, tzinfo=UTC))
    assert str(elsewhere) == "process 4711 on elsewhere (headless run 1a2b3c4d) since 2024-05-06 12:03:00 UTC"


@pytest.mark.parametrize("note", [b"", b"\xff", b"{}", b"[1]"])
def test_a_note_that_says_nothing_is_no_holder(note: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(note)
    assert holder(path) is None
    with hold(path, "it is being made", "mine"):
        pass
