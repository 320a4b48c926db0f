"""Printed output of a headless run: a line per step and training, and finally the paths of the results."""

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
    """A printer for a run on the home of `settings`."""

    console: Console
    settings: Settings

    def line(self, label: str, text: str) -> None:
        """Print a text after its label: a duration or a kind of message."""
        self.console.print(f"{label:>12}  {text}", markup=False, soft_wrap=True)

    def remark(self, text: str) -> None:
        """Print a line without a label."""
        self.console.print(text, markup=False, soft_wrap=True)

    def step(self, step: Step, seconds: float, warnings: Sequence[str]) -> None:
        """Print a finished step, its duration and its warnings."""
        self.line(duration(seconds), str(step))
        self.warn(warnings)

    def plan(self, finished: int, planned: Sequence[Learning], at_a_time: int) -> None:
        """Print the number of finished and planned trainings, and how many run in parallel."""
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
        """Print the outcome of a training or of waiting times, and how many are left."""
        if outcome.failed:
            self.line("failed", str(outcome.learning))
            return
        soon = f", about {duration(seconds_left)}" if seconds_left is not None else ""
        to_go = f"  ({left} to go{soon})" if left else ""
        self.line(duration(outcome.seconds), f"{outcome.learning}{to_go}")
        self.warn(outcome.message.splitlines())

    def warn(self, warnings: Sequence[str]) -> None:
        """Print the findings of checks of severity WARN."""
        for warning in warnings:
            self.line("warning", warning)

    def failure(self, reasons: str) -> str:
        """Return the final message of a failed run."""
        return f"{reasons}\nThe whole story is in the UI: {self.ui}"

    def end(self, seconds: float) -> None:
        """Print the result tables, the run's duration and the paths of the results."""
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
