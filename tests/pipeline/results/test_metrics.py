"""Ranking and its metrics equal the obvious computation, on any grouping, and add up."""

import shutil
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.event_table import EventTable, read_event_table
from pipeline.lake import Lake
from pipeline.results.metrics import (
    MOST_SLOTS,
    link_prediction,
    metric_aggregations,
    mid_ranks,
    slot_length,
    slot_number,
    slot_origin,
    training_curves,
    with_history,
    write_link_prediction,
    write_training_curves,
)
from pipeline.results.trained import current_variants
from tests.small_world import STEPS, store_table, store_variant


def obvious_rank(scores: np.ndarray, target: int, source: int) -> float:
    """The mean 0-based place of the target over all ways to order the candidates by falling score."""
    others = [node for node in range(len(scores)) if node not in (target, source)]
    better = sum(scores[node] > scores[target] for node in others)
    as_good = sum(scores[node] == scores[target] for node in others)
    return better + as_good / 2


def obvious_metrics(ranks: list[tuple[float, float]]) -> dict[str, float]:
    directions = [rank for both in ranks for rank in both]
    hits = {f"hits_at_{k}": np.mean([rank <= k - 1 for rank in directions]) for k in (1, 3, 10)}
    mar = np.mean([(rank_v + rank_u) / 2 for rank_v, rank_u in ranks])
    return {"events": len(ranks), "mar": mar, "mrr": np.mean([1 / (rank + 1) for rank in directions]), **hits}


@pytest.fixture(scope="module")
def measured_home(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with trained variants, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("trained"))
    table = store_table(lake)
    for variant in ("dyrep-concat", "ldg_learned_sparse-bilinear"):
        store_variant(lake, table, variant)
    return lake


@pytest.fixture
def trained_table(measured_home: Lake, lake: Lake) -> EventTable:
    """The table of the same home, to be changed."""
    shutil.copytree(measured_home.home, lake.home)
    return read_event_table(lake.dataset("toy"))


@given(st.integers(3, 12), st.integers(1, 20), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_ranks_equal_the_obvious_ones_ties_included(nodes: int, events: int, values: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, values, (events, nodes)) / values
    scores[random.random(scores.shape) < 0.1] = -np.inf
    pairs = np.array([random.choice(nodes, 2, replace=False) for _ in range(events)])
    expected = [obvious_rank(scores[row], v, u) for row, (u, v) in enumerate(pairs)]
    assert mid_ranks(scores, pairs[:, 1], pairs[:, 0]).tolist() == expected


def test_equal_scores_rank_like_chance() -> None:
    assert mid_ranks(np.zeros((1, 284)), np.array([3]), np.array([7])).tolist() == [141]


def test_the_source_is_no_candidate_however_high_its_score() -> None:
    assert mid_ranks(np.array([[9.0, 5.0, 1.0]]), np.array([1]), np.array([0])).tolist() == [0]


def test_a_missing_score_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        mid_ranks(np.array([[0.0, 1.0, np.nan]]), np.array([1]), np.array([0]))


def test_a_self_loop_is_refused() -> None:
    with pytest.raises(ValueError, match="target equals source"):
        mid_ranks(np.zeros((1, 3)), np.array([1]), np.array([1]))


def test_a_tie_across_the_edge_of_the_top_ten_is_no_hit() -> None:
    frame = pl.DataFrame({"rank_v": [9.0, 9.5], "rank_u": [10.0, 9.0]})
    assert frame.select(metric_aggregations())["hits_at_10"].item() == 0.5


def test_metrics_of_every_model_seed_and_split_equal_the_obvious_ones(
    lake: Lake, trained_table: EventTable
) -> None:
    result = link_prediction(lake)["link_prediction"]
    assert result.height == 2 * 2 * 2
    kinds = dict(trained_table.events.select("idx", "kind").iter_rows())
    for row in result.iter_rows(named=True):
        rankings = pl.read_parquet(
            lake.model("toy", f"{row['variant']}-{row['interaction']}") / "rankings.parquet"
        )
        ranks = [
            (rank_v, rank_u)
            for seed, idx, split, rank_v, rank_u in rankings.iter_rows()
            if seed == row["seed"] and split == row["split"] and kinds[idx] == "communication"
        ]
        for name, value in obvious_metrics(ranks).items():
            assert row[name] == pytest.approx(value, abs=1e-12), name


def test_slots_and_groups_add_up_to_the_whole(lake: Lake, trained_table: EventTable) -> None:
    result = link_prediction(lake)
    model = ["variant", "interaction", "seed"]
    whole = result["link_prediction"].filter(pl.col("split") == "test").sort(model)
    total = (pl.col("events") * pl.col("mar")).sum() / pl.col("events").sum()
    groups = result["link_prediction_by_group"].filter(pl.col("split") == "test")
    for parts in (
        result["link_prediction_by_slot"],
        groups.filter(pl.col("grouping") == "pair"),
        groups.filter(pl.col("value").is_in(["Push", "Fork"])),
        groups.filter(pl.col("value") == "communication"),
    ):
        summed = parts.group_by(model).agg(pl.col("events").sum(), mar=total).sort(model)
        assert summed["events"].to_list() == whole["events"].to_list()
        assert summed["mar"].to_list() == pytest.approx(whole["mar"].to_list())
    assert set(groups.filter(pl.col("grouping") == "pair")["value"]) == {"seen before", "never seen"}
    associations = trained_table.events.filter(
        pl.col("split") == "test", pl.col("kind") == "association"
    ).height
    apart = groups.filter(pl.col("grouping") == "kind", pl.col("value") == "association")
    assert set(apart["events"]) == {associations}


def test_events_lie_in_their_slots(lake: Lake, trained_table: EventTable) -> None:
    slots = link_prediction(lake)["link_prediction_by_slot"].filter(
        pl.col("seed") == 0, pl.col("interaction") == "concat"
    )
    assert 1 < slots.height <= MOST_SLOTS
    tested = trained_table.events.filter(pl.col("split") == "test", pl.col("kind") == "communication")
    for row in slots.iter_rows(named=True):
        inside = pl.col("created_at").is_between(row["slot_start"], row["slot_end"], closed="left")
        assert tested.filter(inside).height == row["events"]


@given(
    st.datetimes(datetime(2011, 1, 1), datetime(2026, 1, 1)),
    st.timedeltas(timedelta(0), timedelta(days=4000)),
)
def test_the_test_period_is_cut_into_at_most_ten_slots(first: datetime, span: timedelta) -> None:
    length = slot_length(first, first + span)
    origin = slot_origin(first, length)
    assert origin <= first < origin + length
    assert slot_number(first + span, origin, length) < MOST_SLOTS


def test_two_months_are_cut_into_weeks() -> None:
    assert slot_length(datetime(2009, 5, 1, 8), datetime(2009, 6, 30, 20)) == timedelta(days=7)


def test_a_pair_is_seen_once_it_had_an_event_of_any_kind_in_either_direction(
    trained_table: EventTable,
) -> None:
    seen: set[frozenset[int]] = set()
    for u, v, pair in with_history(trained_table.events).select("u", "v", "pair").iter_rows():
        assert pair == ("seen before" if frozenset((u, v)) in seen else "never seen")
        seen.add(frozenset((u, v)))


def test_unfinished_and_outdated_variants_are_not_evaluated(lake: Lake, trained_table: EventTable) -> None:
    (lake.model("toy", "dyrep-concat") / "model.json").unlink()
    assert [trained.variant for trained in current_variants(lake, "toy")] == ["ldg_learned_sparse"]
    store_table(lake, seed=1)
    assert current_variants(lake, "toy") == []


def test_a_lake_without_models_gives_empty_tables_with_their_columns(lake: Lake) -> None:
    store_table(lake)
    assert write_link_prediction(lake) == {
        "link_prediction": 0,
        "link_prediction_by_slot": 0,
        "link_prediction_by_group": 0,
    }
    assert "hits_at_10" in pl.read_parquet(lake.results / "link_prediction.parquet").columns


def test_rankings_that_miss_communications_are_refused(lake: Lake, trained_table: EventTable) -> None:
    path = lake.model("toy", "dyrep-concat") / "rankings.parquet"
    pl.read_parquet(path).head(-5).write_parquet(path)
    with pytest.raises(ValueError, match="for seed 1: train again"):
        link_prediction(lake)


def test_curves_of_all_variants_are_one_table(lake: Lake, trained_table: EventTable) -> None:
    assert write_training_curves(lake) == {"training_curves": 2 * 2 * 2 * STEPS}
    mine = training_curves(lake).filter(pl.col("variant") == "dyrep", pl.col("seed") == 1)
    stored = pl.read_parquet(lake.model("toy", "dyrep-concat") / "curves.parquet").filter(pl.col("seed") == 1)
    assert mine.select(stored.columns).rows() == stored.rows()
