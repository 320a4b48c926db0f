"""Trainings side by side: a process each, the longest first, and one that fails stops no other."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from assets.headless import apart
from assets.headless.board import Board
from assets.headless.one_training import train_one
from model.training_task import tasks_of_each
from pipeline.progress import State
from pipeline.rem_variants import RemVariant
from pipeline.variants import Variant

LEARNED = 5  # a training that learns attention takes about as long as five others


@dataclass(frozen=True)
class Training:
    """A variant to be trained on a dataset of so many events; `resumed` if it goes on from a checkpoint."""

    dataset: str
    variant: Variant | RemVariant
    events: int
    resumed: bool = False

    def __str__(self) -> str:
        return f"{self.dataset}/trained_models {self.variant.key}"

    @property
    def weight(self) -> int:
        """How long it takes, relative to other trainings."""
        learns = self.variant.attention == "learned" and not self.variant.frequency
        return self.events * (LEARNED if learns else 1)

    @property
    def needs(self) -> set[tuple[str, str]]:
        """Dataset and key of another training whose weights it uses."""
        return set() if self.variant.needs is None else {(self.dataset, self.variant.needs)}

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and key of the variant."""
        return self.dataset, self.variant.key


@dataclass(frozen=True)
class Outcome:
    """A training that ended after so many seconds; `message` holds its warnings, or why it failed."""

    training: Training
    seconds: float
    failed: bool
    message: str


def run_trainings(
    trainings: Sequence[Training],
    at_a_time: int,
    lock: int,
    report: Callable[[Outcome, float | None], None],
    board: Board,
) -> list[Outcome]:
    """Train all, up to `at_a_time` at once; `report` gets each that ends, and the seconds left if known.
    `board` shows those at work.

    The descriptor `lock` is taken along: it stays open until the last training is gone. When this process
    ends or is interrupted, so do the trainings; their checkpoints stay.
    """
    tasks = tasks_of_each(at_a_time, len(trainings))
    waiting = sorted(trainings, key=lambda training: -training.weight)
    running: dict[Future[Outcome], tuple[Training, float]] = {}
    ended: list[Outcome] = []
    their_end, our_end = os.pipe()
    if trainings:
        apart.prepare()
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            while waiting or running:
                unfinished = {training.key for training in (*waiting, *(at for at, _ in running.values()))}
                failed = {one.training.key for one in ended if one.failed}
                for training in waiting[:]:
                    if training.needs & failed:
                        waiting.remove(training)
                        ended.append(Outcome(training, 0.0, True, "it uses the weights of one that failed"))
                        report(ended[-1], None)
                    elif len(running) < at_a_time and not training.needs & unfinished:
                        waiting.remove(training)
                        work = pool.submit(train_apart, training, tasks, their_end, lock, board)
                        running[work] = training, time.monotonic()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for work in done:
                    running.pop(work)
                    ended.append(work.result())
                    left = [*waiting, *(training for training, _ in running.values())]
                    spent = sum(time.monotonic() - since for _, since in running.values())
                    report(ended[-1], seconds_left(ended, left, spent, at_a_time))
        finally:
            os.close(our_end)
    os.close(their_end)
    return ended


def train_apart(training: Training, tasks: int, their_end: int, lock: int, board: Board) -> Outcome:
    """One training in a process of its own; on a cluster it is done in so many `tasks`."""
    started = time.monotonic()
    warnings: list[str] = []

    def listen(news: State | str) -> None:
        if isinstance(news, State):
            board.tell(str(training), news)
        else:
            warnings.append(news)

    with board.shows(str(training)):
        code, printed = apart.run_apart(
            train_one, *training.key, tasks, listen=listen, their_end=their_end, lock=lock
        )
    message = printed or ended_by(code) if code else "\n".join(warnings)
    return Outcome(training, time.monotonic() - started, code != 0, message)


def ended_by(code: int) -> str:
    """Why a process that printed nothing ended."""
    if code >= 0:
        return f"its process ended with code {code}"
    perhaps = (
        "; perhaps memory ran out: a smaller LDG_TRAININGS needs less" if -code == signal.SIGKILL else ""
    )
    return f"its process was ended by {signal.Signals(-code).name}{perhaps}"


def seconds_left(
    ended: Sequence[Outcome], left: Sequence[Training], spent: float, at_a_time: int
) -> float | None:
    """How long `left` takes, of which `spent` seconds are over; None while no training ended whole."""
    whole = [one for one in ended if not one.failed and not one.training.resumed]
    weight = sum(one.training.weight for one in whole)
    if not weight:
        return None
    work = sum(training.weight for training in left) * sum(one.seconds for one in whole) / weight
    return max(work - spent, 0.0) / max(min(at_a_time, len(left)), 1)
