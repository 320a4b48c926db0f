"""Predictors that learn nothing equal plain computations, and the figures known of the real data."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pipeline.event_table import EventTable, Split, build_event_table, read_event_table, write_event_table
from pipeline.lake import Lake
from pipeline.results.baselines import baselines, predictor_ranks, predictors
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import fetch_social_evolution
from tests.small_world import store_table

UNDIRECTED = {"random", "frequency", "associates", "frequency_within_associates", "online_frequency"} | {
    "pairs_seen",
    "online_recency",
    "popularity",
}
Score = Callable[[int, int], Any]  # a number, or a tuple of them


@pytest.fixture(scope="module")
def busy_table(tmp_path_factory: pytest.TempPathFactory) -> EventTable:
    """A table that nobody changes."""
    return store_table(Lake(tmp_path_factory.mktemp("busy")), events=150)


def to_rank(table: EventTable) -> pl.DataFrame:
    return table.events.filter(pl.col("split") == "test", pl.col("kind") == "communication")


def plain_rank(score: Score, source: int, target: int, nodes: int) -> float:
    others = [score(source, node) for node in range(nodes) if node not in (source, target)]
    own = score(source, target)
    return sum(other > own for other in others) + sum(other == own for other in others) / 2


def plain_scores(table: EventTable, event: dict, name: str, relation: str | None) -> Score:
    """A predictor's scores for one event, computed from all rows that it may know of."""
    training = table.events.filter(pl.col("split") != "test").rows(named=True)
    earlier = [row for row in table.events.rows(named=True) if row["idx"] < event["idx"]]
    count = Counter(frozenset((row["u"], row["v"])) for row in training)
    online = Counter(frozenset((row["u"], row["v"])) for row in earlier)
    last = {frozenset((row["u"], row["v"])): row["idx"] for row in earlier}
    busy = Counter(node for row in earlier for node in (row["u"], row["v"]))
    associates = defaultdict(set)
    graph = table.associations.filter(pl.col("relation") == (relation or ""), pl.col("snapshot") == "final")
    start = datetime.fromisoformat(table.metadata["split"]["test_start"])
    formed = table.association_events.filter(
        pl.col("relation") == (relation or ""),
        pl.col("created_at") >= start,
        pl.col("created_at") < event["created_at"],
    )
    for edges in (graph, formed):
        for u, v in edges.select("u", "v").iter_rows():
            associates[u].add(v)
            associates[v].add(u)
    return {
        "random": lambda u, v: 0,
        "frequency": lambda u, v: count[frozenset((u, v))],
        "associates": lambda u, v: v in associates[u],
        "frequency_within_associates": lambda u, v: (1 + count[frozenset((u, v))]) * (v in associates[u]),
        "online_frequency": lambda u, v: online[frozenset((u, v))],
        "pairs_seen": lambda u, v: online[frozenset((u, v))] > 0,
        "online_recency": lambda u, v: last.get(frozenset((u, v)), -1),
        "popularity": lambda u, v: busy[v],
    }[name]


def plain_role_scores(table: EventTable, event: dict, name: str) -> tuple[Score, Score]:
    """Scores of predictors with decayed popularity: of v as the target of u, and of v as an actor on u."""
    earlier = [row for row in table.events.rows(named=True) if row["idx"] < event["idx"]]
    acted = {(row["u"], row["v"]): row["idx"] for row in earlier}
    received: dict[int, float] = defaultdict(float)
    began: dict[int, float] = defaultdict(float)
    for row in earlier:
        weight = exp(-(event["created_at"] - row["created_at"]).total_seconds() / (4 * 86_400))
        received[row["v"]] += weight
        began[row["u"]] += weight

    def way(u: int, v: int) -> int:
        return acted.get((u, v), -1)

    def either(u: int, v: int) -> int:
        return max(way(u, v), way(v, u))

    def popular(v: int) -> float:
        return received[v] + began[v]

    return {
        "decayed_popularity": (lambda u, v: popular(v), lambda u, v: popular(v)),
        "recency_then_popularity": (
            lambda u, v: (either(u, v), popular(v)),
            lambda u, v: (either(u, v), popular(v)),
        ),
        "decayed_popularity_by_role": (lambda u, v: received[v], lambda u, v: began[v]),
        "recency_by_role_then_popularity": (
            lambda u, v: (way(u, v), either(u, v), received[v]),
            lambda u, v: (way(v, u), either(u, v), began[v]),
        ),
    }[name]


def test_every_predictor_ranks_as_computed_plainly_event_by_event(busy_table: EventTable) -> None:
    nodes, events = busy_table.nodes.height, to_rank(busy_table)
    names = []
    for predictor in predictors(busy_table):
        names.append((predictor.name, predictor.relation))
        ranked = predictor_ranks(predictor, events)
        for event, (idx, rank_v, rank_u) in zip(events.rows(named=True), ranked.iter_rows(), strict=True):
            if (
                not predictor.name.endswith(("then_popularity", "by_role"))
                and predictor.name != "decayed_popularity"
            ):
                of_targets = of_actors = plain_scores(busy_table, event, predictor.name, predictor.relation)
            else:
                of_targets, of_actors = plain_role_scores(busy_table, event, predictor.name)
            assert idx == event["idx"]
            assert rank_v == plain_rank(of_targets, event["u"], event["v"], nodes), (predictor.name, idx)
            assert rank_u == plain_rank(of_actors, event["v"], event["u"], nodes), (predictor.name, idx)
    assert len(names) == len(set(names)) == 6 + 4 + 2 * 2


def test_every_row_says_whether_the_predictor_knows_who_acted(busy_table: EventTable) -> None:
    rows = baselines(busy_table)
    assert set(rows.filter("by_role")["baseline"]) == {
        "decayed_popularity_by_role",
        "recency_by_role_then_popularity",
    }


def test_random_has_the_metrics_expected_of_a_random_order(busy_table: EventTable) -> None:
    rows = baselines(busy_table)
    assert set(rows["events"]) == {to_rank(busy_table).height}
    random = rows.row(by_predicate=pl.col("baseline") == "random", named=True)
    places = range(1, busy_table.nodes.height)  # the true partner is equally likely in each
    for events in ("", "never_seen_"):
        assert random[f"{events}mar"] == sum(place - 1 for place in places) / len(places)
        assert random[f"{events}hits_at_10"] == pytest.approx(
            sum(place <= 10 for place in places) / len(places)
        )
    for metric, value in (
        ("hits_at_1", lambda place: place <= 1),
        ("hits_at_3", lambda place: place <= 3),
        ("mrr", lambda place: 1 / place),
    ):
        assert random[metric] == pytest.approx(sum(map(value, places)) / len(places)), metric


def test_pairs_never_seen_are_told_apart(busy_table: EventTable) -> None:
    """A memory of pairs has nothing to say about those: it ranks them behind all it has seen."""
    events, seen = to_rank(busy_table), set()
    strangers = []
    for idx, u, v in busy_table.events.select("idx", "u", "v").iter_rows():
        if frozenset((u, v)) not in seen and idx in set(events["idx"]):
            strangers.append(idx)
        seen.add(frozenset((u, v)))
    rows = baselines(busy_table)
    assert set(rows["never_seen_events"]) == {len(strangers)}
    memory = next(predictor for predictor in predictors(busy_table) if predictor.name == "pairs_seen")
    ranked = predictor_ranks(memory, events).filter(pl.col("idx").is_in(strangers))
    expected = ranked.select((pl.col("rank_u") + pl.col("rank_v")).mean() / 2).item()
    row = rows.filter(pl.col("baseline") == "pairs_seen").row(0, named=True)
    assert row["never_seen_mar"] == pytest.approx(expected)
    assert row["never_seen_mar"] > row["mar"]


def test_no_predictor_knows_the_future(tmp_path: Path, busy_table: EventTable) -> None:
    """Ranks of the events up to some moment stay when everything after it is different."""
    half = to_rank(busy_table)[to_rank(busy_table).height // 2]
    cut = int(half["idx"].item())
    past = pl.col("idx") <= cut
    random = np.random.default_rng(5)
    others = np.array(
        [random.choice(busy_table.nodes.height, 2, replace=False) for _ in range(busy_table.events.height)]
    )
    moment = half["created_at"].item()
    changed = EventTable(
        busy_table.name,
        busy_table.title,
        busy_table.nodes,
        busy_table.events.with_columns(
            u=pl.when(past).then("u").otherwise(pl.Series(others[:, 0])),
            v=pl.when(past).then("v").otherwise(pl.Series(others[:, 1])),
        ),
        busy_table.associations,
        busy_table.association_events.filter(pl.col("created_at") < moment),
        busy_table.metadata,
    )
    for before, after in zip(predictors(busy_table), predictors(changed), strict=True):
        expected = predictor_ranks(before, to_rank(busy_table)).filter(past)
        assert predictor_ranks(after, to_rank(changed)).filter(past).equals(expected), before.name


def test_a_final_graph_as_of_the_last_event_gives_no_tie_away_before_it_forms(busy_table: EventTable) -> None:
    start = datetime.fromisoformat(busy_table.metadata["split"]["test_start"])
    graphs, ties = busy_table.associations, busy_table.association_events
    columns = ["relation", "u", "v"]
    swapped = [pl.col("relation"), pl.col("v").alias("u"), pl.col("u").alias("v")]
    earlier = pl.concat([graphs.select(columns), ties.filter(pl.col("created_at") < start).select(columns)])
    earlier = pl.concat([earlier, earlier.select(swapped)])
    formed = ties.filter(pl.col("created_at") >= start).join(earlier, on=columns, how="anti").unique(columns)
    assert formed.height
    as_of_the_end = formed.with_columns(snapshot=pl.lit("final")).select(graphs.columns).cast(graphs.schema)
    late = replace(busy_table, associations=pl.concat([graphs, as_of_the_end]))
    for before, after in zip(predictors(busy_table), predictors(late), strict=True):
        assert predictor_ranks(after, to_rank(late)).equals(predictor_ranks(before, to_rank(busy_table))), (
            before.name
        )


def test_a_dataset_without_test_communications_is_told(busy_table: EventTable) -> None:
    events = busy_table.events.filter((pl.col("split") != "test") | (pl.col("kind") == "association"))
    silent = EventTable(
        "silent",
        "",
        busy_table.nodes,
        events,
        busy_table.associations,
        busy_table.association_events,
        busy_table.metadata,
    )
    with pytest.raises(ValueError, match="'silent' has no test communication"):
        baselines(silent)


def printed(rows: pl.DataFrame) -> dict[str, tuple[str, str, str]]:
    return {
        row["baseline"]: (f"{row['mar']:.2f}", f"{row['hits_at_10']:.3f}", f"{row['mrr']:.3f}")
        for row in rows.filter(pl.col("relation").is_null()).rows(named=True)
    }


def stored(table: EventTable, folder: Path) -> EventTable:
    write_event_table(table, folder)
    return read_event_table(folder)


def test_baselines_on_the_papers_github_network_are_the_known_ones(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "github_2013"
    names = pl.read_parquet(source / "nodes.parquet").to_series(0).sort().to_list()
    rows = pl.read_parquet(source / "events.parquet").select(
        source="actor",
        target="target",
        type="type",
        kind=pl.when(pl.col("type").str.contains("Follow"))
        .then(pl.lit("association"))
        .otherwise(pl.lit("communication")),
        created_at=pl.col("created_at").dt.replace_time_zone(None).cast(pl.Datetime("us")),
    )
    table = build_event_table(
        name="github_2013",
        title="GitHub",
        description="",
        rows=rows,
        node_names=names,
        split=Split(datetime(2013, 9, 1), "America/Toronto"),
        own_relations=["Follow"],
    )
    measured = baselines(stored(table, tmp_path))
    assert set(measured["events"]) == {8_667}
    figures = printed(measured)
    assert figures["random"] == ("141.00", "0.035", "0.022")
    assert figures["frequency"] == ("53.38", "0.525", "0.349")
    assert figures["online_frequency"] == ("28.78", "0.653", "0.434")
    assert figures["online_recency"] == ("27.41", "0.680", "0.521")
    assert figures["recency_then_popularity"] == ("19.99", "0.683", "0.523")
    assert figures["recency_by_role_then_popularity"] == ("18.55", "0.704", "0.539")
    assert figures["decayed_popularity_by_role"] == ("26.36", "0.581", "0.342")
    never_seen = {row["baseline"]: row["never_seen_mar"] for row in measured.rows(named=True)}
    assert f"{never_seen['recency_by_role_then_popularity']:.1f}" == "89.8"
    assert f"{never_seen['decayed_popularity_by_role']:.1f}" == "67.8"


def test_baselines_on_social_evolution_are_the_known_ones(real_data: Path, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    source = str(real_data / "social_evolution" / "SocialEvolution.zip")
    files = fetch_social_evolution(source, lake, terms_accepted=True)
    table = social_evolution_table(files, SocialEvolutionRules())
    measured = baselines(stored(table, lake.dataset("social_evolution")))
    assert set(measured["events"]) == {10_462}
    figures = printed(measured)
    assert figures["random"] == ("41.00", "0.120", "0.060")
    assert figures["frequency"] == ("0.35", "0.994", "0.940")
    assert figures["online_frequency"] == ("0.23", "0.997", "0.942")
    assert figures["online_recency"] == ("0.11", "0.999", "0.977")
    mar = {row["baseline"]: f"{row['mar']:.3f}" for row in measured.rows(named=True)}
    assert (mar["recency_then_popularity"], mar["recency_by_role_then_popularity"]) == ("0.098", "0.084")
