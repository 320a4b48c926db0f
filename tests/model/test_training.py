"""Training from an event table to the files of a variant: whole, resumable, seed by seed independent."""

import functools
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from model import epochs, identity
from model.checkpoint import CheckpointError, read_tensors
from model.epochs import learn_batch
from model.run import Run, new_run, save_run
from model.stream import load_stream
from model.training import TrainingSettings, train
from pipeline.variants import variant_with_key, variants_for
from tests.forks import FORKS
from tests.small_world import RELATIONS, write_table

SETTINGS = TrainingSettings(seeds=(0, 1, 2), epochs=2, batch=10, d=4, snapshots=3)
BRIEF = replace(SETTINGS, seeds=(0,), epochs=1)  # where it matters only that something is trained
RECORDS = ("curves", "rankings", "attention", "embeddings", "predictions")


def contents(folder: Path) -> dict[str, Any]:
    """Everything of a trained folder that must not depend on when and how often it was interrupted."""
    weights, _ = read_tensors(folder / "weights.safetensors")
    summary = json.loads((folder / "model.json").read_text())
    for timing in ("training_seconds", "finished_at"):
        summary.pop(timing)
    frames = {name: pl.read_parquet(folder / f"{name}.parquet") for name in RECORDS}
    return {
        "weights": {name: w.numpy().tobytes() for name, w in weights.items()},
        "summary": summary,
        **frames,
    }


def assert_identical(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left["weights"] == right["weights"]
    assert left["summary"] == right["summary"]
    for name in RECORDS:
        assert left[name].equals(right[name]), name


@pytest.mark.parametrize("variant", variants_for(RELATIONS), ids=lambda variant: variant.key)
def test_every_variant_trains_and_leaves_every_promised_file(variant, dataset, tmp_path):
    settings = replace(SETTINGS, seeds=(0, 4), epochs=1)
    summary = train(dataset, variant, settings, tmp_path / variant.key)
    stream = load_stream(dataset, variant.relation)
    ranked = (stream.idx[stream.splits[0] :] >= 0).sum()
    rankings = pl.read_parquet(tmp_path / variant.key / "rankings.parquet")
    assert rankings.height == 2 * ranked
    assert rankings["rank_v"].is_between(0, stream.nodes - 2).all()
    assert (
        summary["not_ranked"]["associations_of_another_relation"] == len(stream) - stream.splits[0] - ranked
    )
    attention = pl.read_parquet(tmp_path / variant.key / "attention.parquet")
    if variant.is_recurrent:
        assert set(attention.filter(pl.col("label") == "final")["seed"]) == {0, 4}
        total = attention.group_by("seed", "snapshot", "edge_type", "u").agg(pl.col("weight").sum())
        np.testing.assert_allclose(total["weight"], 1, atol=1e-4)
    else:
        assert attention.is_empty()
    curves = pl.read_parquet(tmp_path / variant.key / "curves.parquet")
    assert curves["mar"].is_not_null().sum() == 2
    predictions = pl.read_parquet(tmp_path / variant.key / "predictions.parquet")
    assert predictions.height == 10 * stream.nodes
    assert (predictions["node"] != predictions["partner"]).all()
    assert not (tmp_path / variant.key / "checkpoint.safetensors").exists()


@pytest.mark.parametrize(
    "key", ["ldg_learned_sparse-bilinear", "ldg_learned_uniform-concat", "dyrep_random-bilinear"]
)
def test_a_seed_ends_with_the_same_bits_whoever_shares_its_batch(key, dataset, tmp_path):
    variant = variant_with_key(key, variants_for(RELATIONS))
    settings = replace(SETTINGS, epochs=1, d=32)
    train(dataset, variant, settings, tmp_path / "together")
    train(dataset, variant, replace(settings, seeds=(1,)), tmp_path / "alone")
    together, alone = contents(tmp_path / "together"), contents(tmp_path / "alone")
    both, _ = read_tensors(tmp_path / "together" / "weights.safetensors")
    one, _ = read_tensors(tmp_path / "alone" / "weights.safetensors")
    for name in one:
        assert torch.equal(both[name][1:2], one[name]), name
    for name in ("rankings", "curves", "embeddings"):
        assert together[name].filter(pl.col("seed") == 1).equals(alone[name]), name


@pytest.mark.parametrize("key", ["ldg_learned_sparse-bilinear", "dyrep-bilinear", "gcn-concat"])
def test_rankings_are_those_of_the_chosen_epoch(key, dataset, tmp_path):
    train(dataset, variant_with_key(key, variants_for(RELATIONS)), replace(SETTINGS, epochs=3), tmp_path)
    chosen = json.loads((tmp_path / "model.json").read_text())["chosen_epoch"]
    stream = load_stream(dataset)
    communications = pl.DataFrame({"idx": stream.idx[stream.k == 1]})
    ranked = (
        pl.read_parquet(tmp_path / "rankings.parquet")
        .join(communications, on="idx")
        .group_by("seed", "split")
        .agg(mar=(pl.col("rank_v").mean() + pl.col("rank_u").mean()) / 2)
    )
    curves = pl.read_parquet(tmp_path / "curves.parquet").drop_nulls("mar")
    for seed, epoch in chosen.items():
        of_seed = curves.filter(pl.col("seed") == int(seed))
        assert of_seed["mar"].arg_min() == epoch - 1
        for split, column in (("validation", "mar"), ("test", "test_mar")):
            mar = ranked.filter(pl.col("seed") == int(seed), pl.col("split") == split)["mar"].item()
            assert mar == pytest.approx(of_seed[column][epoch - 1], rel=1e-6)


def test_attention_between_start_and_end_is_of_the_chosen_epoch(dataset, tmp_path):
    settings = replace(SETTINGS, batch=5, snapshots=7)
    variant = variant_with_key("ldg_learned_sparse-bilinear", variants_for(RELATIONS))
    train(dataset, variant, settings, tmp_path)
    attention = pl.read_parquet(tmp_path / "attention.parquet")
    moments = attention.group_by("snapshot").agg(pl.col("created_at").first(), pl.col("seed").n_unique())
    moments = moments.sort("snapshot")
    assert moments["snapshot"].to_list() == list(range(7))
    assert moments["created_at"].is_sorted()
    assert moments["seed"].to_list() == [3, 1, 1, 1, 1, 1, 3]


def train_until_killed(dataset: Path, key: str, folder: Path, after: int) -> None:
    """Train with a checkpoint at every step, and be killed after so many."""

    def counted(run: Run, stop: int) -> None:
        learn_batch(run, stop)
        if run.step == after:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "learn_batch", counted)
        train(
            dataset,
            variant_with_key(key, variants_for(RELATIONS)),
            replace(SETTINGS, checkpoint_minutes=0),
            folder,
        )


@pytest.fixture(scope="module")
def trained_in_one_go(dataset, tmp_path_factory):
    """What a variant leaves when nothing interrupts its training, trained once per variant."""

    @functools.cache
    def of_variant(key: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("undisturbed")
        train(dataset, variant_with_key(key, variants_for(RELATIONS)), SETTINGS, folder)
        return contents(folder)

    return of_variant


@pytest.mark.slow
@pytest.mark.parametrize("key", ["ldg_learned_sparse-bilinear", "dyrep-concat"])
@pytest.mark.parametrize("after", [2, 3, 5])
def test_a_training_killed_anywhere_ends_with_the_same_bits(key, after, dataset, trained_in_one_go, tmp_path):
    variant = variant_with_key(key, variants_for(RELATIONS))
    killed = FORKS.Process(target=train_until_killed, args=(dataset, key, tmp_path / "killed", after))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.json").exists()
    lines = []
    train(dataset, variant, SETTINGS, tmp_path / "killed", lines.append)
    assert any("goes on from" in line for line in lines)
    assert_identical(trained_in_one_go(key), contents(tmp_path / "killed"))


def test_a_finished_training_is_not_repeated_and_says_so(dataset, tmp_path):
    variant = variant_with_key("dyrep-concat", variants_for(RELATIONS))
    first = train(dataset, variant, BRIEF, tmp_path)
    lines = []
    assert train(dataset, variant, BRIEF, tmp_path, lines.append) == first
    assert lines == ["dyrep-concat: already trained on this event table with these settings; nothing to do"]
    assert train(dataset, variant, replace(BRIEF, epochs=2), tmp_path)["settings"]["epochs"] == 2


def test_frequency_uses_the_weights_of_the_finished_model_beside_it(dataset, tmp_path):
    plain, frequent = (
        variant_with_key(f"ldg_learned_sparse{s}-bilinear", variants_for(RELATIONS)) for s in ("", "_freq")
    )
    train(dataset, plain, BRIEF, tmp_path / plain.key)
    lines = []
    train(dataset, frequent, BRIEF, tmp_path / frequent.key, lines.append)
    assert any("uses the weights of ldg_learned_sparse-bilinear" in line for line in lines)
    beside, alone = contents(tmp_path / plain.key), contents(tmp_path / frequent.key)
    assert beside["weights"] == alone["weights"]
    assert beside["curves"].equals(alone["curves"])
    assert not beside["rankings"].equals(alone["rankings"])
    train(dataset, frequent, BRIEF, tmp_path / "elsewhere" / frequent.key)
    assert contents(tmp_path / "elsewhere" / frequent.key)["rankings"].equals(alone["rankings"])


def interrupted(dataset, folder, variant) -> Path:
    """A folder with the checkpoint of a training in its first epoch."""
    run = new_run(load_stream(dataset), variant, BRIEF)
    learn_batch(run, 10)
    save_run(run, folder / "checkpoint.safetensors")
    return folder


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"key": "dyrep-bilinear"}, "variant"),
        ({"settings": replace(BRIEF, learning_rate=0.1)}, "settings"),
        ({"table": "another"}, "fingerprint"),
        ({"version": 999}, "version"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_with_the_reason(
    change, reason, dataset, tmp_path, monkeypatch
):
    variant = variant_with_key("dyrep-concat", variants_for(RELATIONS))
    folder = interrupted(dataset, tmp_path / "model", variant)
    small = {"name": "small", "nodes": 12, "events": 48}
    other = write_table(tmp_path / "table", **small, seed=1) if "table" in change else dataset
    before = new_run(load_stream(dataset), variant, BRIEF).identity
    assert identity.resumable(folder / "checkpoint.safetensors", before)
    monkeypatch.setattr(identity, "VERSION", change.get("version", identity.VERSION))
    variant = variant_with_key(change.get("key", "dyrep-concat"), variants_for(RELATIONS))
    settings = change.get("settings", BRIEF)
    now = new_run(load_stream(other), variant, settings).identity
    assert not identity.resumable(folder / "checkpoint.safetensors", now)
    with pytest.raises(CheckpointError, match=reason):
        train(other, variant, settings, folder)
    train(other, variant, settings, folder, start_over=True)


def test_a_damaged_checkpoint_is_refused_whether_cut_or_altered(dataset, tmp_path):
    variant = variant_with_key("dyrep-concat", variants_for(RELATIONS))
    path = interrupted(dataset, tmp_path, variant) / "checkpoint.safetensors"
    whole = path.read_bytes()
    for damaged in (
        whole[:-100],
        whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:],
        b"",
        b"not a checkpoint",
    ):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            train(dataset, variant, BRIEF, tmp_path)


def test_a_seed_whose_loss_is_not_finite_stops_alone_and_says_where(dataset, tmp_path, monkeypatch):
    variant = variant_with_key("dyrep-bilinear", variants_for(RELATIONS))
    train(dataset, variant, SETTINGS, tmp_path / "whole")

    def poisoned(run, stop):
        if run.step == 2 and 1 not in run.stopped:
            run.parameters.named["update.self"][1, 0, 0] = float("nan")
        learn_batch(run, stop)

    monkeypatch.setattr(epochs, "learn_batch", poisoned)
    summary = train(dataset, variant, SETTINGS, tmp_path / "poisoned")
    stopped = summary["stopped"]["1"]
    assert stopped["step"] == 3
    assert stopped["events"] == [20, 27]
    assert set(stopped["parameter_ranges"]) >= {"intensity.rate", "update.self"}
    assert summary["seeds"] == [0, 2]
    whole, left = contents(tmp_path / "whole"), contents(tmp_path / "poisoned")
    for name in ("rankings", "embeddings"):
        assert whole[name].filter(pl.col("seed") != 1).equals(left[name]), name


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"seeds": ()}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"batch": 0}, "batch"),
        ({"betas": (1.0, 0.9)}, "betas"),
    ],
)
def test_impossible_settings_are_refused_naming_the_argument(arguments, named):
    with pytest.raises(ValueError, match=named):
        TrainingSettings(**arguments)


def test_another_relation_brings_its_own_association_events(dataset):
    own, other = load_stream(dataset), load_stream(dataset, "Friend")
    assert (own.idx >= 0).all()
    assert (other.k == 0).sum() == (other.idx < 0).sum() > 0
    assert (own.k == 1).sum() == (other.k == 1).sum()
    with pytest.raises(ValueError, match="relation takes one of Follow, Friend"):
        load_stream(dataset, "Enemy")
