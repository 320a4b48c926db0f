"""Test metrics of one finished training beside the best baseline's, and checks for faults.

Checks return lists of messages; an empty list means no fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, read_parquet
from pipeline.names import BRIEF_METRICS, FINAL, MAR, TEST, baseline_label
from pipeline.results.metrics import by_split, ranked_events
from pipeline.results.stored import missing_columns
from pipeline.results.tables import create_view
from pipeline.results.trained import TrainedVariant
from pipeline.schemas import BASELINES, LOSSES, VIEWS
from pipeline.text import told_apart

FLAT = 1e-6  # weight range below which a graph counts as constant


@dataclass(frozen=True)
class Standing:
    """Test metrics of a training, mean over seeds, and those of the best baseline.

    `baseline` is empty if the event table has no stored baselines, or only those of an earlier version.
    """

    metrics: Mapping[str, float]
    baseline: str = ""
    of_baseline: Mapping[str, float] | None = None

    @property
    def lost(self) -> list[str]:
        """Message if the model does not beat the best baseline by MAR, else an empty list."""
        if self.of_baseline is None or MAR.better(self.metrics[MAR.name], self.of_baseline[MAR.name]):
            return []
        ours, theirs = told_apart(self.metrics[MAR.name], self.of_baseline[MAR.name], MAR.decimals)
        return [f"{MAR.title} {ours}, {self.baseline} has {theirs}"]


def standing(lake: Lake, trained: TrainedVariant) -> Standing:
    """Compare a training with the baselines of the same event table, which must be the present one."""
    table = read_event_table(lake.dataset(trained.dataset))
    test = by_split(ranked_events(trained, table)).filter(pl.col("split") == TEST)
    names = [metric.name for metric in BRIEF_METRICS]
    metrics = test.select(pl.col(names).mean()).row(0, named=True)
    path = lake.baselines(trained.dataset)
    if not path.exists():
        return Standing(metrics)
    stored = read_parquet(path)
    if missing_columns(stored, BASELINES):  # reported in the warehouse's `left_out`
        return Standing(metrics)
    rows = stored.filter(pl.col("fingerprint") == trained.fingerprint)
    best = best_baseline(rows, by_role=trained.facts.get("by_role", False))
    if best is None:
        return Standing(metrics)
    label = baseline_label(best["baseline"], best["relation"])
    return Standing(metrics, label, {name: best[name] for name in names})


def best_baseline(baselines: pl.DataFrame, *, by_role: bool) -> dict[str, Any] | None:
    """Return the best stored baseline for a model by the view `best_baselines`; None without one."""
    with duckdb.connect() as memory:
        memory.register(BASELINES.name, baselines.with_columns(stale=pl.lit(value=False)).to_arrow())
        create_view(memory, VIEWS["best_baselines"])
        best = memory.sql("from best_baselines where model_by_role = ?", params=[by_role]).pl()
    return best.row(0, named=True) if best.height else None


def faults_of_training(trained: TrainedVariant) -> list[str]:
    """Return a message per seed that stopped or whose loss is not finite or rose from first to last epoch."""
    faults = [f"seed {seed} stopped: {reason}" for seed, reason in trained.facts.get("stopped", {}).items()]
    loss = sum((pl.col(term.name).fill_null(0.0) for term in LOSSES), start=pl.lit(0.0))
    by_epoch = trained.read("curves").group_by("seed", "epoch").agg(loss.mean().alias("loss"))
    for (seed,), epochs in by_epoch.sort("seed", "epoch").group_by(["seed"], maintain_order=True):
        first, last = epochs["loss"][0], epochs["loss"][-1]
        if not epochs["loss"].is_finite().all():
            faults.append(f"the loss of seed {seed} is not finite")
        elif last > first:
            faults.append(f"the loss of seed {seed} rose from {first:.4g} to {last:.4g}")
    return faults


def degenerate_graph(trained: TrainedVariant) -> list[str]:
    """Return a message per seed whose final learned graph is empty, not finite or constant."""
    final = trained.read("attention").filter(pl.col("label") == FINAL)
    spread = final.group_by("seed").agg(
        finite=pl.col("weight").is_finite().all(), spread=pl.col("weight").max() - pl.col("weight").min()
    )
    by_seed = {seed: (finite, width) for seed, finite, width in spread.iter_rows()}
    faults = []
    for seed in trained.facts["seeds"]:
        if seed not in by_seed:
            faults.append(f"the graph of seed {seed} has no edge")
            continue
        finite, width = by_seed[seed]
        if not finite:
            faults.append(f"the graph of seed {seed} has weights that are no numbers")
        elif width <= FLAT:
            faults.append(f"all edges of the graph of seed {seed} weigh the same")
    return faults
