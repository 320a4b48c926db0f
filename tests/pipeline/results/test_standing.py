"""How a training stands: beside the best baseline, and what is wrong with it."""

import shutil
from dataclasses import replace

import duckdb
import polars as pl
import pytest

from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.results.baselines import baselines
from pipeline.results.standing import Standing, degenerate_graph, faults_of_training, standing
from pipeline.results.trained import TrainedVariant, trained_variants
from pipeline.results.warehouse import build_warehouse
from tests.small_world import store_table, store_variant

VARIANT = "ldg_learned_sparse-bilinear"


@pytest.fixture(scope="module")
def judged_home(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with a training and baselines, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("trained"))
    table = store_table(lake)
    store_variant(lake, table, VARIANT)
    write_parquet(baselines(table), lake.dataset("toy") / "baselines.parquet")
    return lake


@pytest.fixture
def one_training(judged_home: Lake, lake: Lake) -> TrainedVariant:
    """The training in the same home, to be changed."""
    shutil.copytree(judged_home.home, lake.home)
    (trained,) = trained_variants(lake, "toy")
    return trained


def change(trained: TrainedVariant, records: str, **columns: pl.Expr) -> None:
    path = trained.path(records)
    write_parquet(read_parquet(path).with_columns(**columns), path)


def test_test_metrics_are_means_over_seeds_and_stand_beside_the_best_baseline(
    lake: Lake, one_training: TrainedVariant
) -> None:
    stands = standing(lake, one_training)
    assert stands.metrics.keys() == {"mar", "hits_at_10", "mrr"}
    rows = read_parquet(lake.dataset("toy") / "baselines.parquet").filter(~pl.col("by_role"))
    assert stands.of_baseline is not None
    assert stands.of_baseline["mar"] == rows["mar"].min()


def test_a_model_that_knows_who_acted_is_held_against_all_others(
    lake: Lake, one_training: TrainedVariant
) -> None:
    by_role = replace(one_training, facts={**one_training.facts, "by_role": True})
    stands = standing(lake, by_role)
    assert stands.of_baseline is not None
    assert stands.of_baseline["mar"] == read_parquet(lake.dataset("toy") / "baselines.parquet")["mar"].min()


@pytest.mark.parametrize("by_role", [False, True])
def test_the_warehouse_holds_a_model_against_the_same_baseline(
    lake: Lake, one_training: TrainedVariant, by_role: bool
) -> None:
    stands = standing(lake, replace(one_training, facts={**one_training.facts, "by_role": by_role}))
    with duckdb.connect(str(build_warehouse(lake)), read_only=True) as warehouse:
        rows = warehouse.sql(
            "select baseline, mar, hits_at_10, mrr from best_baselines where model_by_role = ?",
            params=[by_role],
        ).fetchall()
    assert stands.of_baseline is not None
    assert rows == [(stands.baseline.replace(" ", "_"), *stands.of_baseline.values())]


def test_baselines_of_another_table_are_none(lake: Lake, one_training: TrainedVariant) -> None:
    path = lake.dataset("toy") / "baselines.parquet"
    write_parquet(read_parquet(path).with_columns(fingerprint=pl.lit("another")), path)
    assert standing(lake, one_training).of_baseline is None
    path.unlink()
    assert standing(lake, one_training).lost == []


def test_a_baseline_is_named_with_the_relation_it_stands_on(lake: Lake, one_training: TrainedVariant) -> None:
    path = lake.dataset("toy") / "baselines.parquet"
    write_parquet(read_parquet(path).filter(baseline="associates", relation="Friend"), path)
    assert standing(lake, one_training).baseline == "associates, Friend"


@pytest.mark.parametrize("column", ["by_role", "fingerprint"])
def test_baselines_of_an_earlier_version_are_none(
    lake: Lake, one_training: TrainedVariant, column: str
) -> None:
    path = lake.dataset("toy") / "baselines.parquet"
    write_parquet(read_parquet(path).drop(column), path)
    stands = standing(lake, one_training)
    assert stands.metrics.keys() == {"mar", "hits_at_10", "mrr"}
    assert stands.of_baseline is None


def test_a_model_that_ranks_no_better_is_told_by_how_much() -> None:
    stands = Standing({"mar": 7.0}, "recency", {"mar": 7.0})
    assert stands.lost == ["MAR 7.0, recency has 7.0"]
    assert Standing({"mar": 6.9}, "recency", {"mar": 7.0}).lost == []
    assert Standing({"mar": 0.0842}, "recency", {"mar": 0.0593}).lost == ["MAR 0.08, recency has 0.06"]


def test_losses_that_rise_or_end_in_no_number_and_seeds_that_stopped_are_found(
    one_training: TrainedVariant,
) -> None:
    assert faults_of_training(one_training) == []
    stopped = replace(one_training, facts={**one_training.facts, "stopped": {"3": "loss is nan in step 7"}})
    assert faults_of_training(stopped) == ["seed 3 stopped: loss is nan in step 7"]
    change(one_training, "curves", loss_events=pl.col("step").cast(pl.Float64))
    assert [fault[:26] for fault in faults_of_training(one_training)] == [
        "the loss of seed 0 rose fr",
        "the loss of seed 1 rose fr",
    ]
    change(
        one_training,
        "curves",
        loss_events=pl.when(pl.col("seed") == 1).then(float("nan")).otherwise(-pl.col("step")),
    )
    assert faults_of_training(one_training) == ["the loss of seed 1 is not finite"]


def test_a_graph_without_edges_or_without_differences_is_found(one_training: TrainedVariant) -> None:
    assert degenerate_graph(one_training) == []
    change(one_training, "attention", weight=pl.lit(0.5, pl.Float32))
    assert degenerate_graph(one_training)[0] == "all edges of the graph of seed 0 weigh the same"
    path = one_training.path("attention")
    write_parquet(read_parquet(path).filter(pl.col("seed") == 0), path)
    assert degenerate_graph(one_training)[1] == "the graph of seed 1 has no edge"
