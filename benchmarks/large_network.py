"""Everything but training on a network of 100,000 nodes: event table, baselines, results, figures and report.

`python -m benchmarks.large_network --nodes 100000 --events 1000000` prints what each step takes, and the most
memory that the process has had by then. What a training leaves is made up, as sparse as a trained model's.
Each size runs in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.crowd import write_crowd
from pipeline.event_table import EventTable, read_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.results.agreement import write_attention_auc
from pipeline.results.baselines import baselines
from pipeline.results.dataset_stats import write_dataset_stats
from pipeline.results.metrics import write_link_prediction, write_training_curves
from pipeline.results.warehouse import build_warehouse
from pipeline.schemas import PARTNERS, TRAINED
from pipeline.show.figures import draw_figures
from pipeline.show.report import write_report
from tests.small_world import attention, curves, embeddings, rankings

DATASET, VARIANT = "crowd", "ldg_learned_sparse-bilinear"
SNAPSHOTS = 6


def measured(label: str, work: Callable[[], object]) -> None:
    """Print what `work` took, and the most memory so far."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {label:<36} {time.perf_counter() - clock:8.1f} s  {time.process_time() - processor:8.1f} s of "
        f"processor  {memory:6,.0f} MB at most",
        flush=True,
    )


def predictions(nodes: int, random: np.random.Generator) -> pl.DataFrame:
    """Partners of every node, made up."""
    node, rank = np.repeat(np.arange(nodes), PARTNERS), np.tile(np.arange(PARTNERS), nodes)
    step = np.sort(random.integers(1, nodes // PARTNERS, (nodes, PARTNERS)), axis=1).ravel()
    partner = (node + rank * (nodes // PARTNERS) + step) % nodes
    density = 1.0 / (1 + rank)
    return pl.DataFrame({"seed": 0, "node": node, "rank": rank, "partner": partner, "density": density})


def store_training(lake: Lake, table: EventTable) -> None:
    """What a training leaves."""
    random = np.random.default_rng(0)
    folder = lake.model(table.name, VARIANT)
    tables = {
        "curves": curves(1, random),
        "rankings": rankings(table, 1, random),
        "attention": attention(table, VARIANT, 1, SNAPSHOTS, random),
        "embeddings": embeddings(table, 1, random),
        "predictions": predictions(table.nodes.height, random),
    }
    for records, rows in tables.items():
        write_parquet(TRAINED[records].cast(rows), folder / f"{records}.parquet")
    facts = {"dataset": table.name, "fingerprint": table.metadata["fingerprint"], "variant": VARIANT}
    facts |= {
        "seeds": [0],
        "settings": {"seeds": [0], "epochs": 2},
        "parameters": 1,
        "width": 32,
        "stopped": {},
    }
    write_json(
        facts | {"stopped": {}, "chosen_epoch": {"0": 1}, "training_seconds": 1.0}, folder / "model.json"
    )


def measure(nodes: int, events: int, scratch: Path) -> None:
    """Every step, one after the other."""
    lake = Lake(scratch)
    folder = lake.dataset(DATASET)
    print(f"{nodes:,} nodes, {events:,} events", flush=True)
    measured("event table", lambda: write_crowd(folder, nodes, events))
    table = read_event_table(folder)
    ties = table.events.filter(pl.col("kind") == "association").select("u", "v").unique()
    names = table.nodes["name"]
    graph = pl.DataFrame({"source": names[ties["u"]], "target": names[ties["v"]]})
    write_parquet(graph, lake.known_graph(DATASET))
    measured("baselines", lambda: write_parquet(baselines(table), folder / "baselines.parquet"))
    measured("(a training made up)", lambda: store_training(lake, table))
    measured("dataset statistics", lambda: write_dataset_stats(lake))
    measured("link prediction", lambda: write_link_prediction(lake))
    measured("training curves", lambda: write_training_curves(lake))
    measured("agreement with known graphs", lambda: write_attention_auc(lake))
    measured("warehouse", lambda: build_warehouse(lake))
    measured("figures", lambda: draw_figures(lake, DATASET))
    measured("report", lambda: write_report(lake))
    print(f"  the report has {lake.report.stat().st_size / 1e6:,.1f} MB")


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--events", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if len(arguments.nodes) > 1:
        for nodes in arguments.nodes:
            size = ["--nodes", str(nodes), "--events", str(arguments.events)]
            subprocess.run([sys.executable, "-m", "benchmarks.large_network", *size], check=True)
        return
    with tempfile.TemporaryDirectory(prefix="ldg-bench-") as scratch:
        measure(arguments.nodes[0], arguments.events, Path(scratch))


if __name__ == "__main__":
    main()
