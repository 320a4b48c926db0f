"""`ldg run`: the pipeline of a home, run in order without the UI."""

import signal
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterExecutionInterruptedError,
    DagsterInstance,
    JobDefinition,
)
from rich.console import Console

from assets.chain import RENEWED_MODELS, TRAINED_MODELS, WAITING_TIMES
from assets.headless.account import Account
from assets.headless.board import Board
from assets.headless.instance import bury_dead_runs, instance_of
from assets.headless.learning import Learning, Training, finished_training, trainings_at_a_time
from assets.headless.lock import alone
from assets.headless.plan import (
    RESULTS_STEP,
    are_results_unchanged,
    left_out,
    missing_before,
    plan_training,
    plan_waiting_times,
    results_inputs,
    table_steps,
    trained_otherwise,
)
from assets.headless.side_by_side import Outcome, run_side_by_side
from assets.headless.steps import Step, materialize
from assets.lanes.dataset import begun_variants
from assets.metadata import shown_training
from assets.system import build_definitions
from assets.versions import version_of_facts, version_of_training, version_tags
from pipeline.event_table import has_event_table
from pipeline.lake import sweep
from pipeline.locks import LockedError
from pipeline.progress import watched_by
from pipeline.rem_variants import RemVariant
from pipeline.results.digests import note_results
from pipeline.results.standing import standing
from pipeline.results.trained import TrainedVariant, current_variants
from pipeline.runs import SessionRecord
from pipeline.settings import Settings
from pipeline.sources.chosen import chosen_datasets, chosen_variants
from pipeline.sources.source import DatasetSpec
from pipeline.storage.share import bring_things, publish_things
from pipeline.storage.things import event_table, trained_model
from pipeline.variants import Variant


def main(settings: Settings) -> None:
    """Run the pipeline and print the paths of its results."""
    # A log file has no width: 120 columns keep tables readable.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    account = Account(console, settings)
    started = time.monotonic()
    specs, variants = choose(settings, account)
    with headless_run(settings, account) as run:
        run.everything(specs, variants)
    account.end(time.monotonic() - started)


def print_plan(settings: Settings) -> None:
    """Print what a run would make and what is finished, given the current event tables; make nothing."""
    account = Account(Console(highlight=False, width=None if sys.stdout.isatty() else 120), settings)
    specs, variants = choose(settings, account)
    built = {spec.name for spec in specs if has_event_table(settings.lake.dataset(spec.name))}
    for spec in specs:
        for step in table_steps(spec, settings):
            account.line("to check" if spec.name in built else "to make", str(step))
    left = 0
    for spec, variant in variants:
        plan = (
            plan_training(spec, variant, settings) if spec.name in built else Training(spec.name, variant, 0)
        )
        is_finished = isinstance(plan, TrainedVariant)
        left += not is_finished
        label = "finished" if is_finished else "to resume" if plan.resumed else "to make"
        account.line(label, f"{spec.name}/{TRAINED_MODELS} {variant.key}")
    for spec in specs:
        is_learned = spec.name in built and plan_waiting_times(spec, settings)[1]
        left += not is_learned
        account.line("finished" if is_learned else "to make", f"{spec.name}/{WAITING_TIMES}")
    is_unchanged = not left and are_results_unchanged(settings, results_inputs(settings))
    account.line("unchanged" if is_unchanged else "to make", str(RESULTS_STEP))
    account.remark(
        "Every run brings raw files and event tables up to date. Where an event table changes, models and "
        "results are made again."
    )


def choose(
    settings: Settings, account: Account
) -> tuple[list[DatasetSpec], list[tuple[DatasetSpec, Variant | RemVariant]]]:
    """Return the datasets and variants that the settings choose, and print the datasets left out."""
    chosen = chosen_datasets(settings)
    reasons = left_out(chosen, settings)
    specs = [spec for spec in chosen if spec.name not in reasons]
    variants = chosen_variants(specs, settings)
    for name, reason in reasons.items():
        account.remark(f"{name}: left out, {reason}")
    return specs, variants


def train_one_variant(settings: Settings, spec: DatasetSpec, variant: Variant | RemVariant) -> None:
    """Train one variant on an existing event table, as a full run would.

    If it uses the weights of a variant that is not trained yet, that variant is trained first.
    """
    account = Account(Console(highlight=False), settings)
    with headless_run(settings, account) as run:
        run.learn([(spec, one) for one in (*missing_before(spec, variant, settings), variant)])
        run.record.note(finished=True)


@contextmanager
def headless_run(settings: Settings, account: Account) -> Generator["HeadlessRun"]:
    """Yield a run under the home's lock; a held lock or an interrupt exits with a message and a code."""
    # A shell without job control starts background processes with SIGINT ignored; handle it anyway.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with alone(settings, account.remark) as lock, instance_of(settings) as instance:
            sweep(settings.home)
            bury_dead_runs(instance)
            job = build_definitions(settings).resolve_implicit_global_asset_job_def()
            at_a_time = trainings_at_a_time(settings)
            record = SessionRecord(settings.lake, at_a_time)
            try:
                with Board(account.console) as board:
                    yield HeadlessRun(settings, account, job, instance, lock, at_a_time, record, board)
            finally:
                bury_dead_runs(instance)  # those of unfinished trainings
    except LockedError as busy:
        sys.exit(str(busy))
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        account.remark("Interrupted. What is done stays: the same command goes on from here.")
        sys.exit(130)


@dataclass(frozen=True)
class HeadlessRun:
    """A run of steps on a home whose lock is held."""

    settings: Settings
    account: Account
    job: JobDefinition
    instance: DagsterInstance
    lock: int
    at_a_time: int  # trainings
    record: SessionRecord
    board: Board

    def everything(
        self, specs: Sequence[DatasetSpec], variants: Sequence[tuple[DatasetSpec, Variant | RemVariant]]
    ) -> None:
        """Build all event tables, then learn from them, then make the results."""
        for spec in specs:
            for step in table_steps(spec, self.settings):
                self.make(step)
        self.learn(variants, waits_of=specs)
        for spec in specs:
            if spec.source.is_daily:
                self.report_renewed(spec)
        self.make_results()
        self.record.note(finished=True)

    def make(self, step: Step) -> None:
        """Materialize a step in this process; exit the run if it fails."""
        started = time.monotonic()
        try:
            with self.board.shows(str(step)), watched_by(partial(self.board.tell, str(step))):
                warnings = materialize(step, self.job, self.instance)
        except Exception as error:
            sys.exit(self.account.failure(f"{step} failed: {error}"))
        self.account.step(step, time.monotonic() - started, warnings)
        self.record.note()

    def make_results(self) -> None:
        """Make the results, unless they and their inputs are unchanged since the last run."""
        inputs = results_inputs(self.settings)
        if are_results_unchanged(self.settings, inputs):
            self.account.line("unchanged", str(RESULTS_STEP))
            return
        self.make(RESULTS_STEP)
        note_results(self.settings.lake, inputs)

    def learn(
        self,
        variants: Sequence[tuple[DatasetSpec, Variant | RemVariant]],
        waits_of: Sequence[DatasetSpec] = (),
    ) -> None:
        """Run all unfinished trainings and waiting times; if one fails, exit after the others have ended."""
        lake = self.settings.lake
        bring_things(lake, *(event_table(name) for name in {spec.name for spec, _ in variants}))
        chosen = [trained_model(spec.name, variant.key) for spec, variant in variants]
        bring_things(lake, *chosen)
        publish_things(lake, *chosen)  # models that an earlier run could not publish
        for spec, variant in variants:
            if otherwise := trained_otherwise(spec, variant, self.settings):
                self.account.line(
                    "anew", f"{spec.name} {variant.key}, trained otherwise before: {'; '.join(otherwise)}"
                )
        plans = [plan_training(spec, variant, self.settings) for spec, variant in variants]
        models = [plan for plan in plans if isinstance(plan, TrainedVariant)]
        for trained in models:
            self.report_finished(trained)
        trainings = [plan for plan in plans if isinstance(plan, Training)]
        waiting_times = []
        for waits, is_learned in (plan_waiting_times(spec, self.settings) for spec in waits_of):
            if is_learned:
                self.make(waits.step)
            else:
                waiting_times.append(waits)
        planned: list[Learning] = [*trainings, *waiting_times]
        self.account.plan(len(models), planned, self.at_a_time)
        left = len(planned)

        def ended(outcome: Outcome, seconds_left: float | None) -> None:
            nonlocal left
            left -= 1
            self.account.learned(outcome, left, seconds_left)
            if not outcome.failed and isinstance(outcome.learning, Training):
                self.record.note(finished_training(outcome.learning, outcome.seconds))

        outcomes = run_side_by_side(planned, self.at_a_time, self.lock, ended, self.board)
        if failed := [outcome for outcome in outcomes if outcome.failed]:
            reasons = "\n".join(f"{outcome.learning} failed: {outcome.message}" for outcome in failed)
            sys.exit(self.account.failure(reasons))

    def report_finished(self, trained: TrainedVariant) -> None:
        """Report a finished model as materialized after its event table, so that it is not shown as stale."""
        self.instance.report_runless_asset_event(
            AssetMaterialization(
                AssetKey([trained.dataset, TRAINED_MODELS]),
                partition=trained.key,
                metadata=shown_training(trained, standing(self.settings.lake, trained)),
                tags=version_tags(version_of_training(trained.facts)),
            )
        )

    def report_renewed(self, spec: DatasetSpec) -> None:
        """Report `renewed_models` as materialized, unless a model of an earlier event table is left."""
        current = {
            trained.key: version_of_training(trained.facts).value
            for trained in current_variants(self.settings.lake, spec.name)
        }
        if set(begun_variants(self.settings.lake, spec)) == set(current):
            self.instance.report_runless_asset_event(
                AssetMaterialization(
                    AssetKey([spec.name, RENEWED_MODELS]),
                    metadata={"models": len(current)},
                    tags=version_tags(version_of_facts(current)),
                )
            )
