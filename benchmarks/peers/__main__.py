"""`python -m benchmarks.peers <event table folder> [--every K]`: PyG's TGN and TGM's TPNet beside `rem`.

Each learns from the training period, its epoch is chosen on validation, and the final weights come from both;
then every K-th test communication is ranked among all nodes by this project's rule, the same for all. The
folder is `$LDG_HOME/datasets/<dataset>`; `rem` is what `ldg train <dataset> rem-history` left in that home.
"""

import argparse
import sys
import time
from pathlib import Path

import polars as pl
import torch

from benchmarks.peers.compare import by_event, comparison
from benchmarks.peers.fit import ranks_of
from benchmarks.peers.peer import load_edges
from pipeline.event_table import read_event_table
from pipeline.lake import Lake, read_parquet
from pipeline.results.metrics import with_history
from pipeline.results.trained import current_variants


def main(folder: Path, every: int, seeds: int) -> None:
    """Print the comparison as Markdown, anew with each peer that is done."""
    try:
        from benchmarks.peers.tgn import TGN
        from benchmarks.peers.tpnet import TemporalWalks
    except ImportError as error:
        sys.exit(f"{error}: install the peers into an environment of their own, pip install -e '.[peers]'")
    torch.set_num_threads(1)
    table = read_event_table(folder)
    lake = Lake(folder.absolute().parents[1])
    trained = {one.key: one for one in current_variants(lake, folder.name)}.get("rem-history")
    if trained is None:
        sys.exit(f"rem is not trained on {folder.name}: `ldg train {folder.name} rem-history` trains it")
    edges, rem = load_edges(table), read_parquet(trained.path("rankings"))
    compared: dict[str, pl.DataFrame] = {}
    for peer in (TGN, TemporalWalks):
        started, parts = time.process_time(), []
        for seed in range(seeds):
            idx, ranks = ranks_of(peer, edges, seed, every, lambda line: print(line, flush=True))
            parts.append(pl.DataFrame({"idx": idx, "rank_v": ranks[:, 0], "rank_u": ranks[:, 1]}))
        ranked = pl.concat(parts)
        if not compared:
            ours = rem.join(ranked, on="idx", how="semi")
            compared[f"rem, {ours['seed'].n_unique()} seeds"] = by_event(ours)
        compared[peer.title] = by_event(ranked)
        print(f"{peer.title}: {(time.process_time() - started) / 60:.1f} min of processor time", flush=True)
        events = with_history(table.events).join(ranked, on="idx", how="semi").sort("idx")
        print(comparison(compared, events), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="PyG's and TGM's models beside rem."
    )
    parser.add_argument("folder", type=Path, help="the event table: $LDG_HOME/datasets/<dataset>")
    parser.add_argument("--every", type=int, default=6, help="rank every K-th communication (6)")
    parser.add_argument("--seeds", type=int, default=1, help="how often each peer is trained (1)")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.every, arguments.seeds)
