"""A training on a large network: the same files, ranks as in a small one, resumed bit by bit."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.crowd import write_crowd
from model import epochs
from model.forecast import load
from model.large import rule
from model.large.ranking import heard_by
from model.run import Run
from model.training import TrainingSettings, train
from pipeline.event_table import read_event_table
from pipeline.results.metrics import ranked_events
from pipeline.results.trained import TrainedVariant
from tests.model.streams import random_stream
from tests.model.test_training import assert_identical, contents

SETTINGS = TrainingSettings(seeds=(0, 1), epochs=2, batch=40, d=8, senders=8, ranked=6, checkpoint_minutes=0)


@pytest.fixture(scope="module")
def crowd_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small crowd."""
    folder = tmp_path_factory.mktemp("datasets") / "crowd"
    write_crowd(folder, nodes=40, events=160)
    return folder


@pytest.fixture(autouse=True)
def forty_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine for large networks take the small crowd."""
    monkeypatch.setattr(rule, "LARGE", 30)


@pytest.mark.parametrize("key", ["dyrep-bilinear", "ldg_learned_sparse-bilinear"])
def test_a_killed_training_of_a_large_network_ends_as_one_that_was_not(
    key: str, crowd_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = train(crowd_table, key, SETTINGS, tmp_path / "whole" / key)

    class KilledError(Exception):
        pass

    def save(run: Run, path: Path) -> None:
        write(run, path)
        if run.epoch == 1 and run.state.position > 50:
            raise KilledError

    write = epochs.save_run
    with monkeypatch.context() as patch:
        patch.setattr(epochs, "save_run", save)
        with pytest.raises(KilledError):
            train(crowd_table, key, SETTINGS, tmp_path / "killed" / key)
    train(crowd_table, key, SETTINGS, tmp_path / "killed" / key)
    assert_identical(contents(tmp_path / "whole" / key), contents(tmp_path / "killed" / key))
    rankings = pl.read_parquet(tmp_path / "whole" / key / "rankings.parquet")
    assert rankings.group_by("seed", "split").len()["len"].to_list() == [SETTINGS.ranked] * 4
    table = read_event_table(crowd_table)
    communications = rankings.filter(pl.col("seed") == 0).join(
        table.events.filter(pl.col("kind") == "communication"), on="idx", how="semi"
    )
    assert summary["ranked"] == dict(communications.group_by("split").len().rows())
    name, _, interaction = key.partition("-")
    trained = TrainedVariant(tmp_path / "whole" / key, "crowd", name, interaction, summary)
    assert ranked_events(trained, table).height == rankings.height
    likeliest = load(tmp_path / "whole" / key, crowd_table).predict(3, top=10).frame()
    stored = pl.read_parquet(tmp_path / "whole" / key / "predictions.parquet").filter(pl.col("node") == 3)
    assert likeliest["node"].to_list() == stored["partner"].to_list()


@pytest.mark.parametrize("key", ["dyrep-concat", "ldg_random_sparse-bilinear", "ldg_learned_sparse-concat"])
def test_both_engines_rank_alike_where_the_sample_is_everyone(
    key: str, crowd_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, seeds=(0,), epochs=1, senders=100, ranked=10**6)
    train(crowd_table, key, settings, tmp_path / "large")
    monkeypatch.setattr(rule, "LARGE", 10**6)
    train(crowd_table, key, settings, tmp_path / "small")
    ours, theirs = contents(tmp_path / "large"), contents(tmp_path / "small")
    for column in ("rank_v", "rank_u"):
        difference = (ours["rankings"][column] - theirs["rankings"][column]).abs()
        assert difference.mean() < 1.0  # noise of the validation's and the test's own samples, and ties
    for column in ("loss_events", "loss_nonevents"):
        if key != "ldg_learned_sparse-concat":  # which draws more there, so that chance differs
            np.testing.assert_allclose(ours["curves"][column], theirs["curves"][column], rtol=1e-4)


def test_who_was_heard_when_is_what_every_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.large.ranking.HORIZON", 7)
    stream = random_stream(4, nodes=9, events=40)
    clock = np.zeros(stream.nodes)
    for now in range(len(stream)):
        heard = np.searchsorted(stream.seconds, clock, side="right")
        np.testing.assert_array_equal(heard_by(stream, now), np.minimum(np.maximum(heard, now - 7), now))
        clock[[stream.u[now], stream.v[now]]] = stream.seconds[now]


def test_graph_networks_refuse_a_large_network_with_the_reason(crowd_table: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gcn-bilinear takes networks of up to 30 nodes, 'crowd' has 40"):
        train(crowd_table, "gcn-bilinear", SETTINGS, tmp_path)


def test_four_thousand_nodes_leave_no_matrix_of_all_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    write_crowd(folder, nodes=4_000, events=400)
    settings = TrainingSettings(seeds=(0,), epochs=1, ranked=5)
    summary = train(folder, "dyrep-bilinear", settings, tmp_path / "dyrep-bilinear")
    files = sum(path.stat().st_size for path in (tmp_path / "dyrep-bilinear").iterdir())
    assert files < 10_000_000  # a matrix of all pairs would have 64
    assert json.loads((tmp_path / "dyrep-bilinear" / "model.json").read_text()) == summary
