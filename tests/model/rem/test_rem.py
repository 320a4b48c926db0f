"""A relational-event model trains, chooses and ranks as it says, and keeps what every variant keeps."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from model import load
from model.checkpoint import CheckpointError, read_tensors
from model.history.events import Events, load_events
from model.history.moment import LONG_AGO
from model.history.reading import Answers, Pass
from model.history.registry import listed
from model.history.standard import Standard
from model.history.statistics import PAST
from model.rem.candidates import draw_candidates
from model.rem.explain import contributions, reason_sentence
from model.rem.learning import learned_events, new_fit
from model.rem.loss import conditional_logit
from model.rem.network import initial_weights, layout_of, log_intensities, log_intensity
from model.rem.ranking import rem_ranks, scored_answers
from model.rem.settings import RemSettings
from model.rem.training import Training, train_rem
from pipeline.lake import Lake
from pipeline.rem_variants import GROUPS, RemVariant, rem_variants
from pipeline.schemas import CURVES
from tests.model.close import assert_close
from tests.small_world import store_table

SMALL = RemSettings(
    seeds=(0, 3), epochs=2, batch=16, candidates=5, hidden=(8, 4), base_hidden=(6, 3), silent=20
)
BLIND = RemVariant("rem_role_blind", by_role=False)
SHORT = RemVariant("rem_short", without=("pair", "b_ties", "sequence"))
FORMS = [RemVariant(), RemVariant("rem_flat", form="flat"), RemVariant("rem_linear", form="linear")]


@pytest.fixture(scope="module")
def toy_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = Lake(tmp_path_factory.mktemp("rem"))
    store_table(lake)
    return lake.dataset("toy")


@pytest.fixture(scope="module")
def toy_events(toy_dataset: Path) -> Events:
    return load_events(toy_dataset)


@pytest.fixture(scope="module")
def trained(toy_dataset: Path) -> Path:
    folder = toy_dataset.parent / "trained"
    train_rem(toy_dataset, RemVariant(), SMALL, folder)
    return folder


def final_weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_tensors(folder / "weights.safetensors")[0]


def test_a_finished_training_holds_the_files_of_every_variant(toy_dataset: Path, trained: Path) -> None:
    events = pl.read_parquet(toy_dataset / "events.parquet")
    ranked = events.filter(pl.col("split") != "train")
    rankings = pl.read_parquet(trained / "rankings.parquet")
    assert rankings.columns == ["seed", "idx", "split", "rank_v", "rank_u"]
    for seed in SMALL.seeds:
        assert rankings.filter(seed=seed).select("idx", "split").equals(ranked.select("idx", "split"))
    assert rankings.select(pl.col("rank_v", "rank_u").is_between(0, 14).all()).row(0) == (True, True)
    curves = pl.read_parquet(trained / "curves.parquet")
    assert curves.filter(pl.col("mar").is_not_null()).height == SMALL.epochs * len(SMALL.seeds)
    assert curves["test_mar"].null_count() == curves.height
    assert pl.read_parquet(trained / "embeddings.parquet").is_empty()
    predictions = pl.read_parquet(trained / "predictions.parquet")
    assert predictions.height == 16 * 10
    assert set(predictions["seed"]) == {0}
    reasons = pl.read_parquet(trained / "reasons.parquet")
    assert reasons.select("node", "partner").equals(predictions.select("node", "partner"))
    assert (reasons["why"].str.len_chars() > 0).all()
    assert set(reasons["edge_type"]) <= {None, 0, 1}
    assert not (trained / "checkpoint.safetensors").exists()


def test_steps_and_epochs_are_counted_as_their_columns_say(trained: Path) -> None:
    curves = pl.read_parquet(trained / "curves.parquet")
    for name in ("step", "epoch"):
        (said,) = (column.description for column in CURVES.columns if column.name == name)
        assert said.endswith(f"from {curves[name].min()}")


def test_a_finished_training_is_not_repeated(toy_dataset: Path, trained: Path) -> None:
    before = (trained / "model.json").stat().st_mtime_ns
    lines: list[str] = []
    train_rem(toy_dataset, RemVariant(), SMALL, trained, lines.append)
    assert (trained / "model.json").stat().st_mtime_ns == before
    assert "already trained" in lines[0]


def test_a_folder_of_a_removed_variant_is_not_loaded_and_rem_is_named_instead(
    toy_dataset: Path, trained: Path, tmp_path: Path
) -> None:
    facts = json.loads((trained / "model.json").read_bytes())
    facts["variant"] |= {"name": "rem_attention", "of_ldg": "attention"}
    (tmp_path / "model.json").write_text(json.dumps(facts | {"key": "rem_attention-history"}))
    with pytest.raises(ValueError, match="rem_attention-history, which was removed"):
        load(tmp_path, toy_dataset)


def test_the_latent_graph_holds_pairs_with_a_past_and_proper_probabilities(
    toy_events: Events, trained: Path
) -> None:
    graph = pl.read_parquet(trained / "attention.parquet")
    test = toy_events.stream.splits[1]
    met = {
        frozenset(pair) for pair in zip(toy_events.stream.u[:test], toy_events.stream.v[:test], strict=True)
    }
    assert {frozenset(pair) for pair in graph.select("u", "v").iter_rows()} == met
    assert set(graph["edge_type"]) == {0, 1}
    posterior = pl.read_parquet(trained / "posterior.parquet")
    assert (
        posterior.group_by("seed", "u", "v").agg(pl.col("posterior").sum())["posterior"] <= 1 + 1e-5
    ).all()
    assert (graph.group_by("seed", "u").agg(pl.col("weight").sum())["weight"] <= 1 + 1e-5).all()


@pytest.mark.parametrize("variant", FORMS, ids=lambda variant: variant.form)
def test_a_seed_does_not_depend_on_the_others(toy_events: Events, variant: RemVariant) -> None:
    both = Training(toy_events, variant, SMALL)
    alone = Training(toy_events, variant, replace(SMALL, seeds=(3,)))
    for training in (both, alone):
        training.epoch()
    for name, tensor in both.fit.weights.items():
        assert torch.equal(tensor[1:], alone.fit.weights[name])
    assert both.measured[0][1] == alone.measured[0][0]


def test_a_killed_training_ends_bit_identical(
    toy_dataset: Path, toy_events: Events, trained: Path, tmp_path: Path
) -> None:
    first = Training(toy_events, RemVariant(), SMALL)
    for _ in range(3):  # into the final stage
        first.epoch()
    first.save(tmp_path / "checkpoint.safetensors")
    lines: list[str] = []
    train_rem(toy_dataset, RemVariant(), SMALL, tmp_path, lines.append)
    assert "goes on from epoch 2" in lines[0]
    for name, tensor in final_weights(trained).items():
        assert torch.equal(tensor, final_weights(tmp_path)[name]), name
    for file in ("rankings", "curves", "attention", "predictions"):
        expected = pl.read_parquet(trained / f"{file}.parquet")
        assert pl.read_parquet(tmp_path / f"{file}.parquet").equals(expected), file


def test_a_checkpoint_of_another_training_is_refused(
    toy_dataset: Path, toy_events: Events, tmp_path: Path
) -> None:
    Training(toy_events, RemVariant(), SMALL).save(tmp_path / "checkpoint.safetensors")
    with pytest.raises(CheckpointError, match="another training"):
        train_rem(toy_dataset, RemVariant(), replace(SMALL, epochs=3), tmp_path)


def test_a_folder_in_the_place_of_a_checkpoint_is_refused_and_stays(
    toy_dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "checkpoint.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="move or remove it yourself"):
        train_rem(toy_dataset, RemVariant(), SMALL, tmp_path, start_over=True)
    assert (tmp_path / "checkpoint.safetensors").is_dir()


def test_weights_and_choices_know_nothing_of_the_test_period(toy_events: Events) -> None:
    stream = toy_events.stream
    test = stream.splits[1]
    u, v = stream.u.copy(), stream.v.copy()
    u[test:], v[test:] = stream.v[test:], stream.u[test:]
    other = replace(
        toy_events,
        stream=replace(stream, u=u, v=v),
        type=np.append(toy_events.type[:test], toy_events.type[:test][: len(u) - test]),
    )
    trainings = [Training(which, RemVariant(), SMALL) for which in (toy_events, other)]
    for training in trainings:
        while not training.done:
            training.epoch()
    assert trainings[0].measured == trainings[1].measured
    for name, tensor in trainings[0].chosen[1].weights.items():
        assert torch.equal(tensor, trainings[1].chosen[1].weights[name])


@pytest.mark.parametrize("variant", [*FORMS, BLIND, SHORT], ids=lambda variant: variant.name)
def test_ranks_are_those_of_plain_comparisons(toy_events: Events, variant: RemVariant) -> None:
    layout = layout_of(variant, SMALL, listed(len(toy_events.types)))
    weights = initial_weights(layout, SMALL.seeds)
    stream, start = toy_events.stream, 250
    standard = Standard.of(
        Pass(toy_events).read(start, np.arange(100, 110), np.tile(np.arange(16), (10, 2, 1))).x
    )
    reading = Pass(toy_events, by_role=variant.by_role, standard=standard)
    reading.skip(start)
    ranks = rem_ranks(reading, np.arange(start, len(stream)), weights, layout, lambda _: None)
    again = Pass(toy_events, by_role=variant.by_role, standard=standard)
    for event in range(start, start + 12):
        again.skip(event)
        u, v = int(stream.u[event]), int(stream.v[event])
        for side, (anchor, truth) in enumerate(((u, v), (v, u))):
            answers = again.ask(anchor, float(stream.seconds[event]), acts=side == 0)
            scores = log_intensity(scored_answers(weights, layout, answers))
            for seed, of in enumerate(scores.tolist()):
                others = [of[node] for node in range(16) if node not in (u, v)]
                expected = sum(x > of[truth] for x in others) + sum(x == of[truth] for x in others) / 2
                assert ranks[seed, event - start, side] == expected


def test_the_base_rate_does_not_see_the_pairs_own_past(toy_events: Events) -> None:
    layout = layout_of(RemVariant(), SMALL, listed(len(toy_events.types)))
    fit = new_fit(layout, SMALL)
    x = torch.randn(20, len(layout.columns), generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[:, layout.blocks == PAST] = 7.0
    met = torch.arange(20) % 2 == 0
    before, after = (log_intensities(fit.weights, layout, rows, met) for rows in (x, other))
    assert torch.equal(before[:, :, 0], after[:, :, 0])
    assert not torch.equal(before[:, met, 1:], after[:, met, 1:])
    assert (before[:, ~met, 1:].exp() == 0).all()


def test_the_loss_is_the_conditional_logit_of_both_directions() -> None:
    logs = torch.randn(2, 3, 2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    probability = logs.softmax(3)[..., 0]
    expected = -(probability[:, :, 0].log() + probability[:, :, 1].log()).mean(1)
    assert_close(conditional_logit(logs), expected, 1e-7, 1e-7)


@pytest.mark.parametrize("count", [1, 5, 14, 100])
def test_candidates_are_the_truth_and_different_others(toy_events: Events, count: int) -> None:
    stream = toy_events.stream
    positions = learned_events(stream, 0, len(stream))
    assert (stream.k[positions] == 1).all()
    drawn = draw_candidates(stream, positions, count, np.random.default_rng(0))
    assert drawn.shape == (len(positions), 2, 1 + min(count, stream.nodes - 2))
    for event, (targets, actors) in zip(positions, drawn.tolist(), strict=True):
        assert (targets[0], actors[0]) == (stream.v[event], stream.u[event])
        for row in (targets, actors):
            assert not {int(stream.u[event]), int(stream.v[event])} & set(row[1:])
            assert set(row) <= set(range(stream.nodes))
            assert count == 1 or len(set(row)) == len(row)


def test_every_variant_has_a_name_of_its_own_and_drops_what_it_says(toy_events: Events) -> None:
    statistics = listed(len(toy_events.types))
    variants = rem_variants()
    assert len({variant.key for variant in variants}) == len(variants)
    for variant in variants:
        columns = layout_of(variant, SMALL, statistics).columns
        assert len(columns) == sum(one.group not in variant.without for one in statistics)
    single = layout_of(RemVariant(without=("since_ab",)), SMALL, statistics)
    assert len(single.columns) == len(statistics) - 1
    with pytest.raises(ValueError, match="not nonsense"):
        layout_of(RemVariant(without=("nonsense",)), SMALL, statistics)


def test_contributions_of_a_linear_model_are_its_terms(toy_events: Events) -> None:
    statistics = listed(len(toy_events.types))
    layout = layout_of(FORMS[2], SMALL, statistics)
    weights = initial_weights(layout, (0,))
    x = torch.randn(9, len(layout.columns), generator=torch.Generator().manual_seed(0))
    added = contributions(weights, layout, Answers(x.numpy(), np.ones(9, bool)), statistics, np.ones(9))
    assert set(added) == set(GROUPS)
    terms = (x - x.mean(0)) * weights["whole.first"][0, :, 0]
    total = np.sum([added[group][0] for group in GROUPS], axis=0)
    np.testing.assert_allclose(total, terms.sum(1).numpy(), atol=1e-4)


def test_a_forecast_gives_the_reasons_stored_with_the_prediction(toy_dataset: Path, trained: Path) -> None:
    stored = pl.read_parquet(trained / "reasons.parquet").filter(pl.col("node") == 3)
    added = pl.read_parquet(trained / "contributions.parquet").filter(pl.col("node") == 3)
    forecast = load(trained, toy_dataset).predict(3).frame()
    assert forecast["node"].to_list() == stored["partner"].to_list()
    assert forecast["why"].to_list() == stored["why"].to_list()
    assert forecast["edge_type"].to_list() == stored["edge_type"].to_list()
    first = added.filter(pl.col("partner") == stored["partner"][0])
    assert forecast["contributions"][0] == dict(first.select("group", "contribution").iter_rows())


def test_a_forecast_is_explained_in_words() -> None:
    statistics = {
        "since_ab": float(np.log1p(180)),
        "since_ba": float(np.log1p(60)),
        "seen_ab": 1.0,
        "seen_ba": 1.0,
        "common": float(np.log1p(4)),
        "tie_ab": 1.0,
        "tie_ba": 0.0,
    }
    added = {"pair": 3.0, "two_hops": 1.0, "association": 0.5, "clock": 0.01}
    assert (
        reason_sentence(added, statistics) == "met 3 h ago; answered by 1 h ago; 4 common partners; tied to"
    )
    assert reason_sentence({"clock": 0.0}, statistics) == "nothing in particular"


def test_a_meeting_longer_ago_than_statistics_count_is_more_than_two_years_ago() -> None:
    statistics = {"since_ab": float(np.float32(np.log1p(LONG_AGO))), "seen_ab": 1.0, "seen_ba": 0.0}
    assert reason_sentence({"pair": 1.0}, statistics) == "met more than 2 years ago"
    statistics["since_ab"] = float(np.log1p(LONG_AGO - 1440))
    assert reason_sentence({"pair": 1.0}, statistics) == "met 729 days ago"
