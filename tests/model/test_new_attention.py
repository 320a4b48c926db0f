"""An attention is one class and one name: those of CONTRIBUTING.md train like the paper's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from model import gnn
from model.attention.registry import ATTENTIONS
from model.large import rule
from model.run import generators
from model.state import initial_state
from model.stream import load_stream
from model.training import TrainingSettings, train
from pipeline import variants
from pipeline.variants import MOVES, PAPER_INTERACTIONS, Variant
from tests.contributing import example, lines

SETTINGS = TrainingSettings(seeds=(0, 1), epochs=1, batch=10, d=4, snapshots=3)


@pytest.fixture
def habit(monkeypatch: pytest.MonkeyPatch) -> Variant:
    """A variant with the attention of CONTRIBUTING.md."""
    monkeypatch.setitem(ATTENTIONS, "habit", example("model/attention/habit.py")["HabitAttention"])
    monkeypatch.setitem(MOVES, "habit", "with every event")  # ty: ignore[invalid-argument-type]
    return Variant("habit", "bilinear", attention="habit")  # ty: ignore[invalid-argument-type]


def test_an_attention_without_a_kernel_is_refused_on_a_large_network_before_training(
    habit: Variant, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, "LARGE", 11)
    refusal = (
        "habit-bilinear has the attention 'habit', which takes networks of up to 11 nodes, 'small' has 12"
    )
    with pytest.raises(ValueError, match=refusal):
        train(dataset, habit, SETTINGS, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interaction", PAPER_INTERACTIONS)
def test_an_attention_that_moves_with_events_is_trained_and_moves_by_its_rule(
    habit: Variant, dataset: Path, tmp_path: Path, interaction: variants.Interaction
) -> None:
    variant = replace(habit, interaction=interaction)
    assert variant.title("Follow") == "Habit"
    train(dataset, variant, SETTINGS, tmp_path)
    rows = pl.read_parquet(tmp_path / "attention.parquet").filter(label="final", seed=1)
    stream = load_stream(dataset, None)
    expected = (
        initial_state(stream, variant, 4, generators((1,), "start")).attention.dense()[0, :, :, 0].numpy()
    )
    for u, v in zip(stream.u[: stream.splits[1]], stream.v[: stream.splits[1]], strict=True):
        for node, met in ((u, v), (v, u)):
            expected[node, met] += 1
            expected[node] /= expected[node].sum()
    attention = np.zeros_like(expected)
    attention[rows["u"], rows["v"]] = rows["weight"]
    np.testing.assert_allclose(attention, expected, rtol=1e-5)


def test_a_static_graph_network_is_trained(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict = {"Tensor": torch.Tensor, "convolve": gnn.convolve, "attend": gnn.attend}
    exec(lines("def average(", "```"), names)
    monkeypatch.setattr(gnn, "PASS_ON", names["PASS_ON"])
    monkeypatch.setattr(variants, "STATIC", (*variants.STATIC, "mean"))
    variant = Variant("mean", "bilinear", attention="mean")  # ty: ignore[invalid-argument-type]
    assert not variant.is_recurrent
    train(dataset, variant, SETTINGS, tmp_path)
    assert pl.read_parquet(tmp_path / "rankings.parquet")["rank_v"].is_finite().all()
