"""What a headless run prints: a line for each step and training, and at the end where everything is."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from assets.headless.learning import Learning, Training
from assets.headless.side_by_side import Outcome
from assets.headless.steps import Step
from pipeline.settings import Settings
from pipeline.show.terminal import print_tables
from pipeline.text import duration


@dataclass(frozen=True)
class Account:
    """The lines of a run on the home of `settings`."""

    console: Console
    settings: Settings

    def line(self, label: str, text: str) -> None:
        """One line: how long something took, or what kind of news it is, and the news."""
        self.console.print(f"{label:>12}  {text}", markup=False, soft_wrap=True)

    def remark(self, text: str) -> None:
        """A line that stands outside the run's steps."""
        self.console.print(text, markup=False, soft_wrap=True)

    def step(self, step: Step, seconds: float, warnings: Sequence[str]) -> None:
        """A step is done."""
        self.line(duration(seconds), str(step))
        self.warn(warnings)

    def plan(self, finished: int, planned: Sequence[Learning], at_a_time: int) -> None:
        """So many trainings were finished before, these are to be done, so many of them at a time."""
        trainings = sum(isinstance(one, Training) for one in planned)
        waits = len(planned) - trainings
        if finished:
            self.line("before", f"{finished} of {finished + trainings} trainings were finished")
        if planned:
            counts = [f"{trainings} trainings"] if trainings else []
            counts += [f"waiting times of {waits} {'dataset' if waits == 1 else 'datasets'}"] if waits else []
            where = f" on {self.settings.cluster}" if self.settings.cluster else ""
            self.line("now", f"{', '.join(counts)}, up to {at_a_time} side by side{where}")

    def learned(self, outcome: Outcome, left: int, seconds_left: float | None) -> None:
        """A training, or the waiting times of a dataset, has ended, and `left` are to go."""
        if outcome.failed:
            self.line("failed", str(outcome.learning))
            return
        soon = f", about {duration(seconds_left)}" if seconds_left is not None else ""
        to_go = f"  ({left} to go{soon})" if left else ""
        self.line(duration(outcome.seconds), f"{outcome.learning}{to_go}")
        self.warn(outcome.message.splitlines())

    def warn(self, warnings: Sequence[str]) -> None:
        """What checks of severity WARN found."""
        for warning in warnings:
            self.line("warning", warning)

    def failure(self, reasons: str) -> str:
        """The last words of a run that failed."""
        return f"{reasons}\nThe whole story is in the UI: {self.ui}"

    def end(self, seconds: float) -> None:
        """Everything is made: the paper's tables for it, and where it is."""
        lake = self.settings.lake
        print_tables(lake, self.console)
        self.remark(f"\nDone in {duration(seconds)}.")
        self.remark(f"  warehouse  {lake.warehouse}")
        self.remark(f"  report     {lake.report}")
        self.remark(f"  UI         {self.ui}")

    @property
    def ui(self) -> str:
        """The command that opens this home in the UI."""
        return f"LDG_HOME={shlex.quote(str(self.settings.home))} make dev"
