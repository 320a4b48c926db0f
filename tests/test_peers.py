"""Other libraries' models beside ours: on the same events, and ranked by the same rule."""

import runpy
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.peers.compare import by_event, comparison, difference
from benchmarks.peers.fit import rank
from benchmarks.peers.peer import Edges, Peer, load_edges
from pipeline.event_table import read_event_table
from pipeline.names import NEVER_SEEN, SEEN
from pipeline.results.metrics import metric_aggregations, mid_ranks
from tests.small_world import small_table, write_table

DAYS = pl.Series([datetime(2024, 1, 1) + timedelta(hours=6 * number) for number in range(40)])


class Counting(Peer):
    """Scores a pair by how often it was observed."""

    title = "counts"

    def __init__(self, edges: Edges) -> None:
        super().__init__()
        self.counts = np.zeros((edges.nodes, edges.nodes), np.float32)

    def forget(self) -> None:
        self.counts[:] = 0

    def observe(self, events: Edges) -> None:
        np.add.at(self.counts, (events.src.numpy(), events.dst.numpy()), 1)

    def loss(self, events: Edges):
        raise NotImplementedError

    def scores(self, source: int, target: int, second: int):
        import torch

        return torch.from_numpy(np.stack([self.counts[source], self.counts[:, target]]))


def test_a_peer_is_ranked_by_our_rule_on_every_kth_communication_from_the_past_alone() -> None:
    table = small_table()
    edges = load_edges(table)
    assert edges.is_communication.sum() == (table.events["kind"] == "communication").sum()
    validation, test = edges.splits
    peer = Counting(edges)
    peer.observe(edges[slice(0, validation)])
    idx, ranks = rank(peer, edges, validation, test, every=3)
    communications = table.events.filter(
        (pl.col("split") == "validation") & (pl.col("kind") == "communication")
    )
    assert idx.tolist() == communications["idx"].gather_every(3).to_list()
    counts = np.zeros((edges.nodes, edges.nodes))
    for u, v in table.events.select("u", "v").head(int(idx[1])).iter_rows():
        counts[u, v] += 1
    u, v = (np.array([ends[int(idx[1])]]) for ends in (edges.src, edges.dst))
    assert ranks[1].tolist() == [mid_ranks(counts[u], v, u)[0], mid_ranks(counts.T[v], u, v)[0]]


def test_metrics_by_event_average_to_those_of_all_events_and_seeds() -> None:
    random = np.random.default_rng(0)
    seeds = [
        pl.DataFrame({"idx": range(40), "rank_v": r[0], "rank_u": r[1]})
        for r in random.random((2, 2, 40)) * 20
    ]
    ranked = pl.concat(seeds)
    whole = ranked.select(metric_aggregations()).row(0, named=True)
    each = by_event(ranked)
    for name in ("mar", "hits_at_10", "mrr"):
        assert each[name].mean() == pytest.approx(whole[name])


def test_a_difference_on_the_same_events_has_an_interval_around_it() -> None:
    ours = pl.Series(np.arange(40.0))
    exact = difference(ours, ours + 2.0, DAYS.dt.date())
    assert (exact.mean, exact.low, exact.high) == (-2.0, -2.0, -2.0)
    noisy = difference(ours, ours + np.random.default_rng(0).normal(0, 1, 40), DAYS.dt.date())
    assert noisy.low < noisy.mean < noisy.high


def test_the_comparison_shows_never_seen_pairs_apart() -> None:
    events = pl.DataFrame({"pair": [SEEN, NEVER_SEEN] * 20, "created_at": DAYS})
    ranked = pl.DataFrame({"idx": range(40), "rank_v": [0.0, 9.0] * 20, "rank_u": [0.0, 9.0] * 20})
    worse = ranked.with_columns(pl.col("rank_v", "rank_u") + 10)
    text = comparison({"rem": by_event(ranked), "peer": by_event(worse)}, events)
    assert "| never seen | 20 | rem | 9.000 | 1.000 | 0.100 |" in text
    assert "| peer | all | -10.000 [-10.000, -10.000]" in text


def test_the_command_says_how_to_install_the_peers_or_what_to_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(tmp_path / "datasets" / "toy", name="toy")
    monkeypatch.setattr(sys, "argv", ["benchmarks.peers", str(table)])
    with pytest.raises(SystemExit, match=r"pip install -e '\.\[peers\]'|ldg train toy rem-history"):
        runpy.run_module("benchmarks.peers", run_name="__main__")


@pytest.mark.parametrize(
    ("library", "module", "name"), [("torch_geometric", "tgn", "TGN"), ("tgm", "tpnet", "TemporalWalks")]
)
def test_a_peer_learns_and_is_ranked(library: str, module: str, name: str, tmp_path: Path) -> None:
    """Runs where the peers are installed."""
    pytest.importorskip(library)
    from importlib import import_module

    from benchmarks.peers.fit import ranks_of

    kind = getattr(import_module(f"benchmarks.peers.{module}"), name)
    kind.epochs = 1
    edges = load_edges(read_event_table(write_table(tmp_path)))
    idx, ranks = ranks_of(kind, edges, seed=0, every=5, log=lambda _: None)
    assert len(idx) == len(ranks)
    assert ((ranks >= 0) & (ranks <= edges.nodes - 2)).all()
