"""Agreement of graphs equals scikit-learn's, ties, zeros and diagonals included."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.event_table import EventTable, read_event_table, write_event_table
from pipeline.lake import Lake, write_parquet
from pipeline.results.agreement import attention_auc, known_graphs, ranking, with_pick, write_attention_auc
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import fetch_social_evolution
from tests.small_world import store_table, store_variant


@pytest.fixture(scope="module")
def attentive_home(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with a trained variant, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("attentive"))
    store_variant(lake, store_table(lake), "ldg_learned_sparse-bilinear")
    return lake


@pytest.fixture
def attention_table(attentive_home: Lake, lake: Lake) -> EventTable:
    """The same home, to be changed."""
    shutil.copytree(attentive_home.home, lake.home)
    return read_event_table(lake.dataset("toy"))


@pytest.fixture(scope="module")
def agreements(attentive_home: Lake) -> pl.DataFrame:
    """The rows of that home."""
    return attention_auc(attentive_home)


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def scikit_learns(truth: np.ndarray, scores: np.ndarray) -> Any:
    """AUC and average precision by scikit-learn, which takes a second to import."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    return pytest.approx((roc_auc_score(truth, scores), average_precision_score(truth, scores)), abs=1e-12)


def adjacency(edges: pl.DataFrame, nodes: int) -> np.ndarray:
    matrix = np.zeros((nodes, nodes))
    matrix[edges["u"].to_numpy(), edges["v"].to_numpy()] = 1
    return matrix


@settings(max_examples=40)
@given(st.integers(2, 8), st.integers(1, 6), st.booleans(), st.integers(0, 2**32 - 1))
def test_auc_and_average_precision_are_those_of_scikit_learn(
    nodes: int, values: int, negative: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-values if negative else 0, values + 1, (nodes, nodes)) / 7
    np.fill_diagonal(scores, 0)
    graph = random.random((nodes, nodes)) < 0.4
    np.fill_diagonal(graph, 0)
    graph[0, 1], graph[1, 0] = True, False
    # Zeros may or may not be listed: the result is the same.
    u, v = np.nonzero(scores != 0) if seed % 2 else np.nonzero(~np.eye(nodes, dtype=bool))
    shuffled = random.permutation(len(u))
    ranked = ranking((u * nodes + v)[shuffled], scores[u, v][shuffled], nodes)
    agreement = ranked.agreement(np.flatnonzero(graph))
    assert agreement == scikit_learns(off_diagonal(graph), off_diagonal(scores))


def test_every_row_of_a_variant_is_that_of_scikit_learn(
    attentive_home: Lake, attention_table: EventTable, agreements: pl.DataFrame
) -> None:
    nodes = attention_table.nodes.height
    attention = pl.read_parquet(
        attentive_home.model("toy", "ldg_learned_sparse-bilinear") / "attention.parquet"
    )
    rows = agreements.filter(pl.col("variant") == "ldg_learned_sparse")
    assert rows.height == 2 * 2 * 3 * 4  # seeds, attention, edge types and their sum, graphs
    for row in rows.rows(named=True):
        mine = attention.filter(pl.col("seed") == row["seed"], pl.col("label") == row["attention"])
        if row["edge_type"] is not None:
            mine = mine.filter(pl.col("edge_type") == row["edge_type"])
        scores = np.zeros((nodes, nodes))
        np.add.at(scores, (mine["u"].to_numpy(), mine["v"].to_numpy()), mine["weight"].to_numpy())
        edges = attention_table.associations.filter(
            pl.col("relation") == row["relation"], pl.col("snapshot") == row["snapshot"]
        )
        truth = off_diagonal(adjacency(edges, nodes))
        assert row["pairs"] == truth.sum()
        assert (row["auc"], row["average_precision"]) == scikit_learns(truth, off_diagonal(scores))


def test_frequency_stands_beside_with_and_without_association_events(
    attention_table: EventTable, agreements: pl.DataFrame
) -> None:
    nodes, rows = attention_table.nodes.height, agreements
    training = attention_table.events.filter(pl.col("split") != "test")
    talk = training.filter(pl.col("kind") == "communication")
    for variant, events in (("frequency", training), ("communication_frequency", talk)):
        counts = np.zeros((nodes, nodes))
        for u, v in events.select("u", "v").iter_rows():
            counts[u, v] += 1
            counts[v, u] += 1
        mine = rows.filter(pl.col("variant") == variant)
        assert mine.height == 4
        assert mine.select("interaction", "seed", "edge_type").null_count().row(0) == (4, 4, 4)
        for row in mine.rows(named=True):
            edges = attention_table.associations.filter(
                pl.col("relation") == row["relation"], pl.col("snapshot") == row["snapshot"]
            )
            truth = off_diagonal(adjacency(edges, nodes))
            assert (row["auc"], row["average_precision"]) == scikit_learns(truth, off_diagonal(counts))


def test_the_picked_edge_type_is_the_closest_to_the_own_relation_at_the_end(
    agreements: pl.DataFrame,
) -> None:
    rows = agreements.filter(pl.col("variant") == "ldg_learned_sparse")
    for seed in (0, 1):
        mine = rows.filter(pl.col("seed") == seed)
        at_end = mine.filter(
            pl.col("relation") == "Follow",
            pl.col("snapshot") == "final",
            pl.col("attention") == "final",
            pl.col("edge_type").is_not_null(),
        )
        best = at_end.sort("auc")["edge_type"][-1]
        assert mine.filter("picked")["edge_type"].unique().to_list() == [best]
        assert mine.filter("picked").height == 2 * 4  # attention, graphs


def test_without_the_own_relations_graph_nothing_is_picked() -> None:
    rows = pl.DataFrame(
        {
            "seed": [0],
            "edge_type": [1],
            "relation": ["Friend"],
            "snapshot": ["final"],
            "attention": ["final"],
            "auc": [0.9],
        }
    )
    assert with_pick(rows, "Follow")["picked"].to_list() == [False]


def test_a_graph_known_from_outside_is_compared_as_planted(lake: Lake, attention_table: EventTable) -> None:
    edges = [("node 0", "node 1"), ("node 1", "node 0"), ("node 2", "node 5"), ("a stranger", "node 1")]
    write_parquet(pl.DataFrame(edges, schema=["source", "target"], orient="row"), lake.known_graph("toy"))
    nodes = attention_table.nodes.height
    assert known_graphs(lake, "toy", attention_table)["planted", "final"].tolist() == [
        1,
        nodes,
        2 * nodes + 5,
    ]
    planted = attention_auc(lake).filter(pl.col("relation") == "planted")
    assert set(planted["snapshot"]) == {"final"}
    assert planted.filter("picked", pl.col("attention") == "final", pl.col("seed").is_not_null()).height == 2


def test_a_graph_that_separates_nothing_has_no_row(lake: Lake, attention_table: EventTable) -> None:
    everyone = [(f"node {u}", f"node {v}") for u in range(16) for v in range(16)]
    write_parquet(pl.DataFrame(everyone, schema=["source", "target"], orient="row"), lake.known_graph("toy"))
    assert ("planted", "final") not in known_graphs(lake, "toy", attention_table)


def test_a_variant_without_attention_has_no_rows(lake: Lake, attention_table: EventTable) -> None:
    store_variant(lake, attention_table, "gcn-concat")
    path = lake.model("toy", "gcn-concat") / "attention.parquet"
    pl.read_parquet(path).clear().write_parquet(path)
    rows = attention_auc(lake)
    assert "gcn" not in set(rows["variant"])
    assert write_attention_auc(lake) == {"attention_auc": rows.height}


def test_agreement_on_social_evolution_is_that_of_scikit_learn(real_data: Path, lake: Lake) -> None:
    source = str(real_data / "social_evolution" / "SocialEvolution.zip")
    files = fetch_social_evolution(source, lake, terms_accepted=True)
    write_event_table(social_evolution_table(files, SocialEvolutionRules()), lake.dataset("social_evolution"))
    table = read_event_table(lake.dataset("social_evolution"))
    nodes = table.nodes.height
    counts = np.zeros((nodes, nodes))
    for u, v in table.events.filter(pl.col("split") != "test").select("u", "v").iter_rows():
        counts[u, v] += 1
        counts[v, u] += 1
    rows = attention_auc(lake).filter(pl.col("variant") == "frequency")
    assert rows.height == 5 * 2
    for row in rows.rows(named=True):
        edges = table.associations.filter(
            pl.col("relation") == row["relation"], pl.col("snapshot") == row["snapshot"]
        )
        truth, scores = off_diagonal(adjacency(edges, nodes)), off_diagonal(counts)
        assert (row["auc"], row["average_precision"]) == scikit_learns(truth, scores)
