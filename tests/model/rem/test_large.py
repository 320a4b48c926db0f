"""A large network: what is done in parts, in bulk or for some nodes is right, and nothing lists all pairs."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from benchmarks.crowd import crowd_stream, write_crowd
from model import load
from model.history import moment, room
from model.history.events import Events, load_events
from model.history.pairs import step_of
from model.history.reading import Pass
from model.history.registry import listed
from model.history.standard import Standard
from model.rem import audience, learning, ranking
from model.rem.audience import audience_of, most_active
from model.rem.learning import events_to_learn, learn_epoch, make_samples, new_fit, take_standard
from model.rem.network import initial_weights, layout_of
from model.rem.ranking import positions_to_rank, rem_ranks
from model.rem.settings import RemSettings
from model.rem.training import Training, train_rem
from model.stream import COMMUNICATION
from pipeline.rem_variants import RemVariant
from tests.small_world import write_table

FEW = RemSettings(
    seeds=(0, 3), epochs=2, batch=16, candidates=5, hidden=(8, 4), base_hidden=(6, 3), silent=20
)
STRANGERS = 9  # nodes beside those of the table that never do anything


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """Thirty people, and some more whom nobody has heard of until late."""
    events = load_events(write_table(tmp_path_factory.mktemp("crowded"), nodes=30, events=600))
    stream = events.stream
    v = stream.v.copy()
    v[-3:] = stream.nodes + np.array([0, 4, 4])
    return replace(events, stream=replace(stream, nodes=stream.nodes + STRANGERS, v=v))


def standard_for(events: Events) -> Standard:
    positions = np.arange(100, 300, 9)
    everyone = np.tile(np.arange(events.stream.nodes), (len(positions), 2, 1))
    return Standard.of(Pass(events).read(300, positions, everyone).x)


@pytest.mark.parametrize("variant", [RemVariant(), RemVariant("rem_role_blind", by_role=False)])
def test_ranks_with_ties_in_bulk_are_those_of_all_candidates(
    crowded: Events, variant: RemVariant, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(variant, FEW, listed(len(crowded.types)))
    weights, standard = initial_weights(layout, FEW.seeds), standard_for(crowded)
    ranked = np.array([400, 401, 450, *range(590, len(crowded.stream))])
    ranks = []
    for small in (moment.SMALL, 0):
        monkeypatch.setattr(ranking, "SMALL", small)
        monkeypatch.setattr(ranking, "ROWS_AT_ONCE", 8192 if small else 7)
        reading = Pass(crowded, by_role=variant.by_role, standard=standard)
        ranks.append(rem_ranks(reading, ranked, weights, layout, lambda _: None))
    # Of nodes with the same statistics, products of many rows round some otherwise: only in bulk do they tie.
    tied = np.isin(crowded.stream.v[ranked], np.arange(STRANGERS) + crowded.stream.nodes - STRANGERS)
    tied &= ranked < len(crowded.stream) - 1  # the last has been heard of
    assert tied.sum() == 2
    np.testing.assert_array_equal(ranks[0][:, ~tied], ranks[1][:, ~tied])
    np.testing.assert_array_equal(ranks[0][:, tied, 1], ranks[1][:, tied, 1])
    assert np.abs(ranks[0] - ranks[1]).max() <= STRANGERS / 2


def test_of_a_large_network_communications_spread_evenly_are_ranked(
    crowded: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = crowded.stream
    np.testing.assert_array_equal(positions_to_rank(stream, 100, 500), np.arange(100, 500))
    monkeypatch.setattr(ranking, "MOST_SCORED", 2 * stream.nodes * 50)
    some = positions_to_rank(stream, 100, 500)
    assert len(some) == 50
    assert (stream.k[some] == COMMUNICATION).all()
    assert np.diff(some).max() < 2 * np.diff(some).mean() + 2


def test_a_long_epoch_learns_from_every_event_once_in_pieces(
    crowded: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant, end = RemVariant(), crowded.stream.splits[0]
    layout = layout_of(variant, FEW, listed(len(crowded.types)))
    count = len(events_to_learn(crowded.stream, FEW, end))
    fit = new_fit(layout, FEW)
    take_standard(fit, crowded, variant, FEW, end)
    (whole,) = make_samples(crowded, variant, FEW, layout, fit, end)
    monkeypatch.setattr(learning, "MOST_SHUFFLED", 100)
    monkeypatch.setattr(learning, "PIECE", 100)
    pieces = list(make_samples(crowded, variant, FEW, layout, fit, end))
    assert len(pieces) == -(-count // 100)
    np.testing.assert_array_equal(np.concatenate([piece.x for piece in pieces]), whole.x)
    np.testing.assert_array_equal(np.concatenate([piece.met for piece in pieces]), whole.met)
    learned = []
    learn_epoch(fit, pieces, count, layout, FEW, lambda events, _: learned.append(events))
    assert sum(learned) == count
    assert len(fit.losses) == len(learned)


def test_an_audience_stands_for_everyone(crowded: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Pass(crowded)
    reading.skip(500)
    now, everyone = float(crowded.stream.seconds[499]), crowded.stream.nodes
    whole = audience_of(reading, 3, now)
    np.testing.assert_array_equal(whole.nodes, np.arange(everyone))
    assert whole.weight.tolist() == [float(node != 3) for node in range(everyone)]
    monkeypatch.setattr(audience, "SMALL", 5)
    monkeypatch.setattr(audience, "MOST", 2)
    part = audience_of(reading, 3, now, also=np.array([everyone - 1]))
    assert part.weight.sum() == pytest.approx(everyone - 1)
    stands = dict(zip(part.nodes.tolist(), part.weight.tolist(), strict=True))
    assert stands[3] == 0
    assert stands[everyone - 1] == 1
    latest = [b for a, b in zip(crowded.stream.u[:500], crowded.stream.v[:500], strict=True) if a == 3][-1]
    assert stands[latest] == 1
    acted = np.bincount(crowded.stream.u[:500], minlength=everyone)
    assert len(most_active(reading.history)) == 5
    assert acted[most_active(reading.history)].min() >= np.median(acted)


def test_shorter_walks_know_nothing_of_the_future_either(
    crowded: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, cut = crowded.stream, 300
    u, v = stream.u.copy(), stream.v.copy()
    u[cut:], v[cut:] = stream.v[cut:], stream.u[cut:]
    other = replace(
        crowded,
        stream=replace(stream, u=u, v=v),
        type=np.append(crowded.type[:cut], crowded.type[cut:][::-1]),
    )
    positions = np.arange(200, cut)
    everyone = np.tile(np.arange(stream.nodes), (len(positions), 2, 1))
    far = Pass(crowded).read(cut, positions, everyone).x
    monkeypatch.setattr(moment, "SMALL", 0)
    one, two = (Pass(events).read(len(stream), positions, everyone).x for events in (crowded, other))
    np.testing.assert_array_equal(one, two)
    statistics = listed(len(crowded.types))
    by_walks = np.array([statistic.group == "two_hops" for statistic in statistics])
    np.testing.assert_array_equal(one[..., ~by_walks], far[..., ~by_walks])
    assert (one[..., by_walks] <= far[..., by_walks] + 1e-6).all()
    assert (one[..., by_walks] < far[..., by_walks]).any()


def test_of_too_many_sequences_the_weakest_are_forgotten(
    crowded: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Pass(crowded)
    reading.skip(400)
    history = reading.history
    before = dict(zip(history.step_key.tolist(), history.step_fade.sum((1, 2)).tolist(), strict=True))
    used = int(history.sizes[1])
    room.forget_steps(history, used // 2)
    assert history.sizes[1] == used // 2
    keys = history.step_key[: used // 2].tolist()
    assert sorted(before[key] for key in keys) == sorted(before.values())[-(used // 2) :]
    strongest = max(keys, key=lambda key: before[key])
    nodes = crowded.stream.nodes
    assert history.step_key[step_of(history, strongest // nodes, strongest % nodes)] == strongest
    monkeypatch.setattr(room, "MOST_STEPS", 4_000)
    reading.read(len(crowded.stream), np.array([599]), np.tile(np.arange(nodes), (1, 2, 1)))
    assert reading.history.sizes[1] <= 4_000


def test_a_crowd_of_ten_thousand_is_learned_from_and_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = crowd_stream(10_000, 1_000)
    type_of = np.random.default_rng(0).integers(0, 3, len(stream))
    events = Events(stream, ("a", "b", "others"), type_of, np.empty((0, 2), np.int64), 0.0, 0.0)
    monkeypatch.setattr(ranking, "MOST_SCORED", 20_000 * 10)
    training = Training(events, RemVariant(), replace(FEW, seeds=(0,), epochs=1))
    while not training.done:
        training.epoch()
    assert training.chosen[0].ranks.shape == (1, 10, 2)
    assert training.measured[0][0] < 5_000
    assert all(torch.isfinite(tensor).all() for tensor in training.chosen[1].weights.values())


def test_nothing_lists_all_pairs_of_twenty_thousand_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest array of all pairs would hold 400 MB."""
    monkeypatch.setattr(audience, "MOST", 64)
    write_crowd(tmp_path / "table", nodes=20_000, events=40)
    tracemalloc.start()
    try:
        train_rem(tmp_path / "table", RemVariant(), replace(FEW, seeds=(0,), epochs=1), tmp_path / "model")
        forecast = load(tmp_path / "model", tmp_path / "table").predict(1, top=3).frame()
        largest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert forecast.height == 3
    assert largest < 2e8
    predictions = pl.read_parquet(tmp_path / "model" / "predictions.parquet")
    assert predictions.group_by("node").len()["len"].to_list() == [10] * predictions["node"].n_unique()
