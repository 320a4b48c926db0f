"""Parallel learning: one child process each, longest first; a failure stops only dependent trainings."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from assets.headless import apart
from assets.headless.board import Board
from assets.headless.learning import Learning
from assets.headless.one_step import make_one
from pipeline.progress import State


@dataclass(frozen=True)
class Outcome:
    """The result of a learning: its duration, and as `message` its warnings or the cause of failure."""

    learning: Learning
    seconds: float
    failed: bool
    message: str


def run_side_by_side(
    learnings: Sequence[Learning],
    at_a_time: int,
    lock: int,
    report: Callable[[Outcome, float | None], None],
    board: Board,
) -> list[Outcome]:
    """Run all learnings, up to `at_a_time` at once, and return their outcomes.

    `report` receives each outcome and the estimated seconds left, if known; `board` shows running ones.
    Children inherit the descriptor `lock`. They exit when this process ends or is interrupted, and keep
    their checkpoints.
    """
    waiting = sorted(learnings, key=lambda learning: -learning.weight)
    running: dict[Future[Outcome], tuple[Learning, float]] = {}
    ended: list[Outcome] = []
    their_end, our_end = os.pipe()
    if learnings:
        apart.prepare()
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            while waiting or running:
                unfinished = {learning.key for learning in (*waiting, *(at for at, _ in running.values()))}
                failed = {one.learning.key for one in ended if one.failed}
                for learning in waiting[:]:
                    if learning.needs & failed:
                        waiting.remove(learning)
                        ended.append(Outcome(learning, 0.0, True, "it uses the weights of one that failed"))
                        report(ended[-1], None)
                    elif len(running) < at_a_time and not learning.needs & unfinished:
                        waiting.remove(learning)
                        work = pool.submit(learn_beside_others, learning, their_end, lock, board)
                        running[work] = learning, time.monotonic()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for work in done:
                    running.pop(work)
                    ended.append(work.result())
                    left = [*waiting, *(learning for learning, _ in running.values())]
                    spent = sum(time.monotonic() - since for _, since in running.values())
                    report(ended[-1], seconds_left(ended, left, spent, at_a_time))
        finally:
            os.close(our_end)
    os.close(their_end)
    return ended


def learn_beside_others(learning: Learning, their_end: int, lock: int, board: Board) -> Outcome:
    """Run one learning in a child process and return its outcome."""
    started = time.monotonic()
    warnings: list[str] = []

    def listen(news: State | str) -> None:
        if isinstance(news, State):
            board.tell(str(learning), news)
        else:
            warnings.append(news)

    with board.shows(str(learning)):
        code, printed = apart.run_apart(
            make_one, learning.dataset, learning.step, listen=listen, their_end=their_end, lock=lock
        )
    message = printed or why_it_ended(code) if code else "\n".join(warnings)
    return Outcome(learning, time.monotonic() - started, code != 0, message)


def why_it_ended(code: int) -> str:
    """Describe the exit of a child process that printed nothing."""
    if code >= 0:
        return f"its process ended with code {code}"
    perhaps = (
        "; perhaps memory ran out: a smaller LDG_TRAININGS needs less" if -code == signal.SIGKILL else ""
    )
    return f"its process was ended by {signal.Signals(-code).name}{perhaps}"


def seconds_left(
    ended: Sequence[Outcome], left: Sequence[Learning], spent: float, at_a_time: int
) -> float | None:
    """Estimate the time for `left` minus `spent` seconds; None until one has ended without a resume."""
    whole = [one for one in ended if not one.failed and not one.learning.resumed]
    weight = sum(one.learning.weight for one in whole)
    if not weight:
        return None
    work = sum(learning.weight for learning in left) * sum(one.seconds for one in whole) / weight
    return max(work - spent, 0.0) / max(min(at_a_time, len(left)), 1)
