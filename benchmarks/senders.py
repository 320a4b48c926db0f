"""What a sample of senders does to a learned LDG: the exact first pass beside sampled ones, seed by seed.

    python -m benchmarks.senders --dataset DIR --seeds 5 --senders 64 16
    python -m benchmarks.senders --dataset DIR --seeds 5 --thinned 30 3

Every training goes through `model.train`, in a process of its own, and all of them start from the same
weights, seed by seed. The engine for large networks hearing everyone is what each other one is held against:
the engine for small networks (`small`), a sample of senders, a start thinned to so many neighbours a node.
Printed are the mean of each metric, and how much better than the exact one each is, seed by seed, with its
95 % interval. MAR and HITS@10 are of the test communications that the engine for large networks ranks; AUC is
that of the edge type picked by the final graph of the own relation, and of all edge types summed.
"""

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from model.attention import start
from model.identity import TrainingSettings
from model.large import rule
from model.training import train
from pipeline.event_table import EventTable, read_event_table
from pipeline.names import HITS_AT, MAR
from pipeline.results.agreement import edge_keys, variant_agreement
from pipeline.results.metrics import by_split, ranked_events
from pipeline.results.trained import TrainedVariant, read_facts
from pipeline.show.results_page.evidence import paired
from pipeline.variant_names import split_key

AUC, AUC_OF_SUM = "auc", "auc of the sum"
METRICS = (MAR.name, HITS_AT[10].name, AUC, AUC_OF_SUM)


@dataclass(frozen=True)
class Arm:
    """One way to train: everyone is heard, or so many senders; neighbours at the start as drawn, or fewer."""

    senders: int | None = None
    thinned: int | None = None
    small: bool = False

    @property
    def label(self) -> str:
        """Its name in print and of its folder."""
        if self.small:
            return "small"
        heard = "everyone" if self.senders is None else f"{self.senders} senders"
        return heard if self.thinned is None else f"{heard}, start of {self.thinned}"


EXACT, SMALL = Arm(), Arm(small=True)


def train_arm(arm: Arm, dataset: Path, key: str, seeds: int, epochs: int, folder: Path) -> None:
    """Train `key` in this process, whose rules for large networks become those of `arm`."""
    nodes = read_event_table(dataset).nodes.height
    if not arm.small:
        rule.LARGE = 0
    if arm.thinned is not None:
        start.MOST_LISTED, start.MOST_NEIGHBOURS = 0, arm.thinned
    senders = arm.senders or nodes - 1
    settings = TrainingSettings(seeds=tuple(range(seeds)), epochs=epochs, senders=senders)
    train(dataset, key, settings, folder, log=print)


def measured(folder: Path, table: EventTable, key: str, ranked: pl.DataFrame | None) -> pl.DataFrame:
    """Metrics of a training by seed, over the events of `ranked` where that is given."""
    facts = read_facts(folder)
    assert facts is not None
    trained = TrainedVariant(folder, table.name, *split_key(key), facts)
    events = ranked_events(trained, table).filter(pl.col("split") == "test")
    if ranked is not None:
        events = events.join(ranked, on="idx", how="semi")
    own = table.metadata["own_relations"][0]
    final = table.associations.filter(pl.col("relation") == own, pl.col("snapshot") == "final")
    graphs = {(own, "final"): edge_keys(final, table.nodes.height)}
    auc = variant_agreement(trained, table, graphs).filter(pl.col("attention") == "final")
    picked = auc.filter(pl.col("picked")).select("seed", pl.col("auc").alias(AUC))
    summed = auc.filter(pl.col("edge_type").is_null()).select("seed", pl.col("auc").alias(AUC_OF_SUM))
    return by_split(events).join(picked, on="seed").join(summed, on="seed").sort("seed")


def by_seed(rows: pl.DataFrame, metric: str) -> dict[int, float]:
    """One metric of every seed."""
    return dict(zip(rows["seed"], rows[metric], strict=True))


def report(label: str, rows: pl.DataFrame, exact: pl.DataFrame) -> None:
    """Print the metrics of one training and how much better than the exact one it is."""
    print(label)
    for metric in METRICS:
        values = rows[metric].to_numpy()
        line = f"  {metric:<15} {values.mean():8.4f} ± {np.std(values, ddof=1):.4f}"
        difference = paired(label, by_seed(rows, metric), by_seed(exact, metric), lower=metric == MAR.name)
        if rows is not exact and difference is not None and difference.interval is not None:
            low, high = difference.interval
            line += f"   better by {difference.mean:+.4f} ({low:+.4f} … {high:+.4f})"
        print(line, flush=True)


def main() -> None:
    """Train what the arguments ask for, a process each, and print the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, required=True, help="folder of an event table")
    parser.add_argument("--variant", default="ldg_learned_sparse")
    parser.add_argument("--interaction", default="bilinear", choices=("concat", "bilinear"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--senders", type=int, nargs="*", default=[64], help="sizes of the sample")
    parser.add_argument(
        "--thinned", type=int, nargs="*", default=[], help="neighbours that a node starts with"
    )
    parser.add_argument("--small", action="store_true", help="the engine for small networks, too")
    parser.add_argument("--folder", type=Path, help="where trainings stay; one that is there is not repeated")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds takes 2 or more: one seed has no interval")
    key, table = f"{arguments.variant}-{arguments.interaction}", read_event_table(arguments.dataset)
    arms = [EXACT, *([SMALL] if arguments.small else []), *(Arm(senders=size) for size in arguments.senders)]
    arms += [Arm(thinned=neighbours) for neighbours in arguments.thinned]
    with tempfile.TemporaryDirectory() as temporary:
        home = arguments.folder or Path(temporary)
        folders = {arm: home / table.name / arm.label / key for arm in arms}
        for arm, folder in folders.items():
            order = arm, arguments.dataset, key, arguments.seeds, arguments.epochs, folder
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                alone.submit(train_arm, *order).result()
        print(f"{table.name}, {key}, {arguments.seeds} seeds, {arguments.epochs} epochs")
        ranked = pl.read_parquet(folders[EXACT] / "rankings.parquet", columns=["idx"]).unique()
        exact = measured(folders[EXACT], table, key, None)
        report(EXACT.label, exact, exact)
        for arm in arms[1:]:
            report(arm.label, measured(folders[arm], table, key, ranked), exact)


if __name__ == "__main__":
    main()
