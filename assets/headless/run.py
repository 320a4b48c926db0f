"""Everything of a home, headless: materialize it in its order and print the paper's tables for it."""

import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterExecutionInterruptedError,
    DagsterInstance,
    JobDefinition,
)
from pyarrow.parquet import read_metadata
from rich.console import Console

from assets.definitions import build_definitions
from assets.headless.side_by_side import Outcome, Training, run_trainings
from assets.headless.steps import Step, alone, bury_dead_runs, instance_of, materialize
from assets.lanes.results import RESULTS
from assets.metadata import shown_training
from assets.partitions import DAYS_A_RUN
from assets.rules import chosen_datasets, chosen_variants, training_settings
from model.identity import finished, identity, resumable
from pipeline.lake import sweep
from pipeline.progress import duration
from pipeline.runs import FinishedTraining, SessionRecord
from pipeline.settings import Settings
from pipeline.show.terminal import print_tables
from pipeline.sources.registry import DatasetSpec
from pipeline.variants import Variant


def main(settings: Settings) -> None:
    """Run the DAG in its order and say where everything is."""
    # Tables keep their shape in a log file, which has no width of its own.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    started = time.monotonic()
    try:
        specs = sourced(chosen_datasets(settings), settings, console)
        variants = chosen_variants(specs, settings)
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 - for the terminal
        sys.exit(2)
    try:
        with (
            alone(settings, partial(console.print, soft_wrap=True)) as lock,
            instance_of(settings) as instance,
        ):
            sweep(settings.home)
            bury_dead_runs(instance)
            job = build_definitions(settings).resolve_implicit_global_asset_job_def()
            record = SessionRecord(settings.lake, settings.trainings)
            run = HeadlessRun(settings, console, job, instance, lock, record)
            try:
                run.everything(specs, variants)
            finally:
                bury_dead_runs(instance)  # those of trainings that did not come to their end
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        console.print("Interrupted. What is done stays: the same command goes on from here.")
        sys.exit(130)
    print_tables(settings.lake, console)
    console.print(f"\nDone in {duration(time.monotonic() - started)}.")
    console.print(f"  warehouse  {settings.lake.warehouse}")
    console.print(f"  report     {settings.lake.report}")
    console.print(f"  UI         {ui(settings)}")


def train_alone(settings: Settings, spec: DatasetSpec, variant: Variant) -> None:
    """Train one variant on an event table that is there, as a run of everything would."""
    console = Console(highlight=False)
    try:
        with (
            alone(settings, partial(console.print, soft_wrap=True)) as lock,
            instance_of(settings) as instance,
        ):
            bury_dead_runs(instance)
            job = build_definitions(settings).resolve_implicit_global_asset_job_def()
            record = SessionRecord(settings.lake, settings.trainings)
            try:
                HeadlessRun(settings, console, job, instance, lock, record).train([(spec, variant)])
                record.note(finished=True)
            finally:
                bury_dead_runs(instance)
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        console.print("Interrupted. What is done stays: the same command goes on from here.")
        sys.exit(130)


def sourced(specs: Sequence[DatasetSpec], settings: Settings, console: Console) -> list[DatasetSpec]:
    """`specs`, without Social Evolution if it has no source: an error if it was asked for by name."""
    if settings.social_evolution:
        return list(specs)
    if "social_evolution" in settings.datasets:
        raise ValueError("LDG_DATASETS names social_evolution, but LDG_SOCIAL_EVOLUTION names no source")
    there = [spec for spec in specs if spec.source != "social_evolution"]
    if len(there) < len(specs):
        console.print("social_evolution: left out, LDG_SOCIAL_EVOLUTION names no source")
    return there


@dataclass(frozen=True)
class HeadlessRun:
    """What is made on a home whose lock is held, step by step."""

    settings: Settings
    console: Console
    job: JobDefinition
    instance: DagsterInstance
    lock: int
    record: SessionRecord

    def everything(
        self, specs: Sequence[DatasetSpec], variants: Sequence[tuple[DatasetSpec, Variant]]
    ) -> None:
        """Each dataset up to its event table, then all trainings, then the results."""
        for spec in specs:
            for step in table_steps(spec, self.settings):
                self.make(step)
        self.train(variants)
        self.make(Step(tuple(AssetKey(name) for name in RESULTS)))
        self.record.note(finished=True)

    def make(self, step: Step) -> None:
        """Materialize in this process, and say what and how long."""
        started = time.monotonic()
        try:
            warnings = materialize(step, self.job, self.instance)
        except Exception as error:
            sys.exit(f"{step} failed: {error}\nThe whole story is in the UI: {ui(self.settings)}")
        self.say(duration(time.monotonic() - started), str(step))
        for warning in warnings:
            self.say("warning", warning)
        self.record.note()

    def train(self, variants: Sequence[tuple[DatasetSpec, Variant]]) -> None:
        """Every training that is not finished yet; if one fails, the run ends when the others are through."""
        planned = [self.planned(spec, variant) for spec, variant in variants]
        trainings = [training for training in planned if training is not None]
        if before := len(planned) - len(trainings):
            self.say("before", f"{before} of {len(planned)} trainings were finished")
        if trainings:
            self.say("now", f"{len(trainings)} trainings, up to {self.settings.trainings} side by side")
        failed: list[Outcome] = []
        left = len(trainings)

        def tell(outcome: Outcome, seconds: float | None) -> None:
            nonlocal left
            left -= 1
            training = outcome.training
            if outcome.failed:
                failed.append(outcome)
                self.say("failed", str(training))
                return
            soon = f", about {duration(seconds)}" if seconds is not None else ""
            self.say(duration(outcome.seconds), f"{training}" + (f"  ({left} to go{soon})" if left else ""))
            for warning in outcome.said.splitlines():
                self.say("warning", warning)
            self.record.note(
                FinishedTraining(*training.key, seconds=round(outcome.seconds, 3), resumed=training.resumed)
            )

        run_trainings(trainings, self.settings.trainings, self.lock, tell)
        if failed:
            reasons = "\n".join(f"{outcome.training} failed: {outcome.said}" for outcome in failed)
            sys.exit(f"{reasons}\nThe whole story is in the UI: {ui(self.settings)}")

    def planned(self, spec: DatasetSpec, variant: Variant) -> Training | None:
        """A training to come, or None for a finished one: that is reported as made anew, as its table is."""
        lake = self.settings.lake
        table, folder = lake.dataset(spec.name), lake.model(spec.name, variant.key)
        fingerprint = json.loads((table / "dataset.json").read_text(encoding="utf-8"))["fingerprint"]
        asked = training_settings(self.settings)
        if known := finished(folder, identity(spec.name, fingerprint, variant, asked)):
            self.instance.report_runless_asset_event(
                AssetMaterialization(
                    AssetKey([spec.name, "trained_models"]),
                    partition=variant.key,
                    metadata=shown_training(folder, known),
                )
            )
            return None
        begun = identity(spec.name, fingerprint, variant.trained_like(), asked)
        return Training(
            spec.name,
            variant,
            events=read_metadata(table / "events.parquet").num_rows,
            resumed=resumable(folder / "checkpoint.safetensors", begun),
        )

    def say(self, how_long: str, what: str) -> None:
        """A line of the run's account."""
        self.console.print(f"{how_long:>12}  {what}", markup=False, soft_wrap=True)


def table_steps(spec: DatasetSpec, settings: Settings) -> Iterator[Step]:
    """The runs that bring a dataset's raw material and make its event table."""
    if spec.source == "github":
        day, end = settings.github_history, settings.last_github_day()
        while day <= end:
            last = min(day + timedelta(days=DAYS_A_RUN - 1), end)
            yield Step((AssetKey("gharchive_files"), AssetKey("github_events")), tags=day_range(day, last))
            day = last + timedelta(days=1)
        yield Step((AssetKey(["github", "subnetwork"]),))
    if spec.source == "social_evolution":
        yield Step((AssetKey("social_evolution_files"),))
    yield Step(tuple(AssetKey([spec.name, step]) for step in ("event_table", "no_learn_baselines")))


def day_range(first: date, last: date) -> dict[str, str]:
    """Tags that let one run cover the file days from `first` to `last`."""
    return {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }


def ui(settings: Settings) -> str:
    """The command that opens this home in the UI."""
    return f"LDG_HOME={shlex.quote(str(settings.home))} make dev"
