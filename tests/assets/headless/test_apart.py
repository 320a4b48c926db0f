"""Work in processes of their own: what it tells arrives, and however it ends, its parent knows."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from assets.headless.apart import Tell, run_apart
from tests.forks import FORKING
from tests.whole_system import wait_for

pytestmark = FORKING


def count(until: int, tell: Tell) -> None:
    os.write(1, b"nobody reads this")
    for number in range(until):
        tell(number)


def fail(tell: Tell) -> None:
    tell("so far")
    raise ValueError("the reason")


def die(tell: Tell) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def last_for_ever(tell: Tell) -> None:
    tell(os.getpid())
    time.sleep(600)


def outcome(work: Callable[..., None], *arguments: object) -> tuple[int, str, list[object]]:
    heard: list[object] = []
    their_end, our_end = os.pipe()
    try:
        code, printed = run_apart(
            work, *arguments, listen=heard.append, their_end=their_end, lock=sys.stderr.fileno()
        )
    finally:
        os.close(our_end)
        os.close(their_end)
    return code, printed, heard


def test_what_the_work_tells_is_heard_in_its_order() -> None:
    assert outcome(count, 3) == (0, "nobody reads this", [0, 1, 2])


def test_an_error_is_the_last_that_is_printed() -> None:
    assert outcome(fail) == (1, "ValueError: the reason", ["so far"])


def test_a_process_that_is_killed_has_the_signal_for_a_code() -> None:
    assert outcome(die) == (-signal.SIGKILL, "", [])


def test_the_end_of_the_pipe_is_the_end_of_the_process() -> None:
    heard: list[int] = []
    their_end, our_end = os.pipe()

    def listen(process: int) -> None:
        heard.append(process)
        os.close(our_end)

    code, _ = run_apart(last_for_ever, listen=listen, their_end=their_end, lock=sys.stderr.fileno())
    os.close(their_end)
    assert code == 1
    wait_for(lambda: not psutil.pid_exists(heard[0]))


def tell_threads_of_parent(tell: Tell) -> None:
    for thread in Path(f"/proc/{os.getppid()}/task").iterdir():
        tell((thread / "comm").read_text().strip())


@pytest.mark.skipif(sys.platform != "linux", reason="only there is anything imported before a fork")
def test_no_pool_of_threads_starts_before_a_fork_since_it_would_be_dead_after_it() -> None:
    code, printed, threads = outcome(tell_threads_of_parent)
    assert (code, printed) == (0, "")
    # What frees memory in the background is made for forks.
    assert set(threads) <= {"python", "jemalloc_bg_thd", "polars-ooc-clea"}
    assert threads.count("python") == 1
