"""Validation chooses the epoch on events that no weight has learned from; the test period is ranked by a
model that has learned from them, too.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from model.epochs import learn, learn_batch
from model.ranking import rank_until
from model.run import Run, branch_of, new_run
from model.stream import Stream
from model.training import TrainingSettings
from pipeline.progress import Progress
from pipeline.variants import variant_with_key, variants_for
from tests.model.streams import random_stream

SETTINGS = TrainingSettings(seeds=(0, 1), epochs=2, batch=8, d=4, snapshots=4)
KEYS = ["ldg_learned_sparse-bilinear", "dyrep-concat", "gcn-bilinear"]


def world() -> Stream:
    """Two dozen events to learn from, six to validate, six to test."""
    return replace(random_stream(4, nodes=8, events=36), splits=(24, 30))


def learned(stream: Stream, key: str, folder: Path, settings: TrainingSettings = SETTINGS) -> Run:
    run = new_run(stream, variant_with_key(key, variants_for(["Follow"])), settings)
    learn(run, folder / "checkpoint.safetensors", None)
    return run


@pytest.mark.parametrize("key", KEYS)
def test_no_epoch_learns_from_events_that_validation_ranks(key, tmp_path):
    stream = world()
    other = replace(stream, u=stream.u.copy(), v=stream.v.copy())
    other.u[24:30], other.v[24:30] = (stream.u[24:30] + 1) % 8, (stream.v[24:30] + 1) % 8
    one, another = learned(stream, key, tmp_path), learned(other, key, tmp_path)
    assert torch.equal(one.parameters.flat, another.parameters.flat)
    assert torch.equal(torch.stack(one.losses), torch.stack(another.losses))
    assert one.chosen is not None
    assert another.chosen is not None
    same = [a == b for a, b in zip(one.chosen_epoch, another.chosen_epoch, strict=True)]
    assert torch.equal(one.chosen.validation.weights[same], another.chosen.validation.weights[same])
    assert not torch.equal(one.chosen.test.weights, another.chosen.test.weights)


@pytest.mark.parametrize("key", KEYS)
def test_the_test_period_is_ranked_by_what_learned_on_through_validation(key, tmp_path):
    stream = world()
    settings = replace(SETTINGS, epochs=1)
    run = learned(stream, key, tmp_path, settings)
    plain = new_run(stream, run.variant, settings)
    for stop in (8, 16, 24, 30):
        learn_batch(plain, stop)
    assert run.chosen is not None
    assert run.chosen.validation.state.position == 24
    assert run.chosen.test.state.position == 30
    assert torch.equal(run.chosen.test.weights, plain.parameters.flat)
    assert torch.equal(run.chosen.test.state.z, plain.state.z)
    assert torch.equal(run.chosen.test.state.attention.values, plain.state.attention.values)


def test_ranking_leaves_what_was_learned_as_it_is(tmp_path):
    run = learned(world(), "dyrep-bilinear", tmp_path)
    assert run.chosen is not None
    with Progress("rank", 12, "events", None) as progress:
        first, again = (
            rank_until(run, run.chosen.test, 36, SETTINGS.seeds, progress).numpy() for _ in range(2)
        )
    np.testing.assert_array_equal(first, again)
    assert run.chosen.test.state.position == 30


def test_a_branch_leaves_its_run_as_it_is():
    run = new_run(
        world(), variant_with_key("ldg_learned_sparse-bilinear", variants_for(["Follow"])), SETTINGS
    )
    learn_batch(run, 8)
    before = [run.parameters.flat.clone(), run.state.z.clone(), *(moment.clone() for moment in run.moments)]
    drawn = [generator.get_state() for generator in run.random]
    learn_batch(branch_of(run), 16)
    now = [run.parameters.flat, run.state.z, *run.moments]
    assert all(torch.equal(a, b) for a, b in zip(before, now, strict=True))
    assert all(torch.equal(a, b.get_state()) for a, b in zip(drawn, run.random, strict=True))
    assert (run.step, run.state.position, len(run.losses)) == (1, 8, 1)
    learn_batch(run, 16)


def test_a_seed_that_stops_while_learning_on_is_stopped_for_good(tmp_path, monkeypatch):
    run = new_run(world(), variant_with_key("dyrep-concat", variants_for(["Follow"])), SETTINGS)

    def poisoned(poisoned_run: Run, stop: int) -> None:
        if poisoned_run.step == 3 and not poisoned_run.stopped:  # the last batch before the test period
            poisoned_run.parameters.named["update.self"][1, 0, 0] = float("nan")
        learn_batch(poisoned_run, stop)

    monkeypatch.setattr("model.epochs.learn_batch", poisoned)
    learn(run, tmp_path / "checkpoint.safetensors", None)
    assert run.stopped[1]["events"] == [24, 30]
    assert run.measured[0][1][1] is None
    assert run.measured[1][0][0] is not None
