"""Predictors that learn nothing: who-interacts-next from counts and memories, ranked by the models' own rule.

Every predictor is causal: an event is ranked from what happened before it in the table's order. A *frozen*
one stops looking at the end of training (the validation period included); an *online* one goes on observing
test events of both kinds, as the models do. A predictor `by_role` knows who acts and who is acted on; to
every other one a pair has no direction: an event counts for both its nodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.names import (
    ASSOCIATES,
    COMMUNICATION_KIND,
    FINAL,
    FREQUENCY,
    HITS_AT,
    MRR,
    NEVER_SEEN,
    ONLINE_RECENCY,
    POPULARITY,
    RANDOM,
    TEST,
)
from pipeline.results.metrics import metric_aggregations, with_history
from pipeline.results.pairs import Pairs, both_ways
from pipeline.schemas import BASELINES

if TYPE_CHECKING:
    from pipeline.results.exact_ranks import Memory

DECAY = timedelta(days=4)  # popularity fades by e in this time


@dataclass(frozen=True)
class Predictor:
    """What orders candidates as the next target of every node and as the next to act on it.

    Unless the predictor is `by_role`, both are the same.
    """

    name: str
    targets: "Memory"
    actors: "Memory"
    relation: str | None = None
    by_role: bool = False

    @property
    def frozen(self) -> "Predictor":
        """The same, but it stops looking when the test period begins."""
        return replace(self, targets=self.targets.frozen, actors=self.actors.frozen)


@dataclass(frozen=True)
class Observed:
    """Events as predictors see them: those before the test period at once, the others as they happen."""

    events: pl.DataFrame  # in order, with idx, u, v, split and created_at
    pairs: Pairs

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Who acts and who is acted on: (E,) each."""
        return self.events["u"].to_numpy().astype(np.int64), self.events["v"].to_numpy().astype(np.int64)

    @cached_property
    def known_from(self) -> np.ndarray:
        """The idx of the first event that knows of each event: (E,)."""
        return self.events["idx"].to_numpy().astype(np.int64) + 1

    @cached_property
    def in_test(self) -> np.ndarray:
        """Which events are of the test period: (E,)."""
        return (self.events["split"] == TEST).to_numpy()

    @cached_property
    def counts(self) -> np.ndarray:
        """How many events have joined each event's pair once it has happened, in either direction: (E,)."""
        low, high = pl.min_horizontal("u", "v"), pl.max_horizontal("u", "v")
        return self.events.select(pl.int_range(1, pl.len() + 1).over(low, high)).to_series().to_numpy()

    def memory(self, forth: np.ndarray | int, back: np.ndarray | int) -> "Memory":
        """What events leave with their pairs: each lifts (u, v) to its `forth`, (v, u) to its `back`."""
        from pipeline.results.exact_ranks import Changes, Memory

        u, v = self.nodes
        places = np.stack([self.pairs.place(u, v), self.pairs.place(v, u)], 1)  # (E, 2)
        values = np.stack(np.broadcast_arrays(forth, back, u)[:2], 1).astype(np.int64)  # (E, 2)
        scores = np.zeros(len(self.pairs.keys), np.int64)
        before, test = ~self.in_test, self.in_test
        np.maximum.at(scores, places[before], values[before])
        first = np.repeat(self.known_from[test], 2)
        return Memory(self.pairs, scores, Changes(first, places[test].ravel(), values[test].ravel()))

    def popularity(self, memory: "Memory", nodes: np.ndarray, values: np.ndarray) -> "Memory":
        """`memory` with popularity behind it: events lift `nodes` (E, R) to `values` (E, R)."""
        from pipeline.results.exact_ranks import Changes

        popularity = np.zeros(self.pairs.nodes, np.int64)
        before, test = ~self.in_test, self.in_test
        np.maximum.at(popularity, nodes[before], values[before])
        first = np.repeat(self.known_from[test], nodes.shape[1])
        later = Changes(first, nodes[test].ravel(), values[test].ravel())
        return replace(memory, popularity=popularity, popularity_changes=later)


def predictors(table: EventTable) -> Iterator[Predictor]:
    """Every no-learn predictor of a dataset."""
    pairs = Pairs.of(table.nodes.height, table.events, table.associations, table.association_events)
    observed = Observed(table.events, pairs)
    nobody, counted = observed.memory(0, 0), observed.memory(observed.counts, observed.counts)
    yield undirected(RANDOM, nobody).frozen
    yield undirected(FREQUENCY, counted).frozen
    for relation in table.metadata["relations"]:
        yield from associate_predictors(table, relation, counted.frozen)
    yield undirected("online_frequency", counted)
    yield undirected("pairs_seen", observed.memory(1, 1))
    yield undirected(ONLINE_RECENCY, observed.memory(observed.known_from, observed.known_from))
    both = np.stack(observed.nodes, 1)  # (E, 2)
    yield undirected(POPULARITY, observed.popularity(nobody, both, running_count(both)))
    for by_role in (False, True):
        yield decayed_popularity(observed, by_role=by_role)
        yield recency_then_popularity(observed, by_role=by_role)


def undirected(name: str, memory: "Memory", relation: str | None = None) -> Predictor:
    """A predictor to which a pair has no direction."""
    return Predictor(name, memory, memory, relation)


def decayed_popularity(observed: Observed, *, by_role: bool) -> Predictor:
    """Nodes by their events, an event's weight fading by e every `DECAY`.

    By role, a target is ordered by the events it received, an actor by those it began.
    """
    nobody = observed.memory(0, 0)
    name = "decayed_popularity_by_role" if by_role else "decayed_popularity"
    return then_popularity(observed, Predictor(name, nobody, nobody, by_role=by_role))


def recency_then_popularity(observed: Observed, *, by_role: bool) -> Predictor:
    """Partners by their last event, then everyone else by decayed popularity.

    By role, those the node acted on come first (or, for actors, those who acted on it), by the last time;
    then those met only the other way round.
    """
    when = observed.known_from
    if not by_role:
        return then_popularity(observed, undirected("recency_then_popularity", observed.memory(when, when)))
    # Lifts an event in the asked direction above every one in the other.
    same_way = when + observed.events.height + 1
    targets, actors = observed.memory(same_way, when), observed.memory(when, same_way)
    return then_popularity(
        observed, Predictor("recency_by_role_then_popularity", targets, actors, by_role=True)
    )


def then_popularity(observed: Observed, predictor: Predictor) -> Predictor:
    """The predictor with decayed popularity behind its pairs: of the role that is asked for, or of both."""
    u, v = (of[:, None] for of in observed.nodes)  # (E, 1)
    both = np.concatenate([u, v], 1)  # (E, 2)
    as_target, as_actor = (v, u) if predictor.by_role else (both, both)
    targets = observed.popularity(predictor.targets, as_target, fading(observed.events, as_target))
    if not predictor.by_role:
        return replace(predictor, targets=targets, actors=targets)
    actors = observed.popularity(predictor.actors, as_actor, fading(observed.events, as_actor))
    return replace(predictor, targets=targets, actors=actors)


def running_count(nodes: np.ndarray) -> np.ndarray:
    """How often each of `nodes` (E, R) has occurred up to there."""
    occurred = pl.DataFrame({"node": nodes.ravel()}).select(pl.int_range(1, pl.len() + 1).over("node"))
    return occurred.to_series().to_numpy().reshape(nodes.shape)


def fading(events: pl.DataFrame, nodes: np.ndarray) -> np.ndarray:
    """The popularity of each of `nodes` (E, R) once its event has happened, as the place of its value.

    The value is log Σ exp(tᵢ / `DECAY`) over the node's events. The order of Σ exp(−(t − tᵢ) / `DECAY`) is
    the same at every t, and a logarithm does not overflow however long the stream.
    """
    at = (events["created_at"] - events["created_at"][0]).dt.total_microseconds().to_numpy()
    exponents = np.repeat(at / (DECAY / timedelta(microseconds=1)), nodes.shape[1])
    order = np.argsort(nodes.ravel(), kind="stable")
    begins = np.flatnonzero(np.diff(nodes.ravel()[order], prepend=-1))
    values = np.empty(nodes.size)
    for of_node in np.split(order, begins[1:]):
        values[of_node] = np.logaddexp.accumulate(exponents[of_node])
    return np.unique(values, return_inverse=True)[1].reshape(nodes.shape) + 1


EITHER_WAY = [pl.min_horizontal("u", "v").alias("low"), pl.max_horizontal("u", "v").alias("high")]


def associate_predictors(table: EventTable, relation: str, counted: "Memory") -> Iterator[Predictor]:
    """Random among associates, and training frequency within associates, for one relation.

    Associates are those of the graph at the end of training, in either direction, and those who form a tie
    during the test period, from the first later event on. A tie that dissolves leaves no event, so it stays.
    """
    from pipeline.results.exact_ranks import Changes, Memory

    pairs = counted.pairs
    graph = table.associations.filter(pl.col("relation") == relation, pl.col("snapshot") == FINAL)
    start = pl.lit(table.metadata["split"]["test_start"]).str.to_datetime(time_unit="us")
    events = table.association_events.filter(pl.col("relation") == relation)
    ties, before = events.filter(pl.col("created_at") >= start), events.filter(pl.col("created_at") < start)
    # The final graph may be that of the last event: ties that form in the test period are not there yet.
    to_come = ties.select(EITHER_WAY).join(before.select(EITHER_WAY), on=["low", "high"], how="anti")
    graph = graph.with_columns(EITHER_WAY).join(to_come, on=["low", "high"], how="anti")
    at_end, formed = both_ways(graph, pairs), both_ways(ties, pairs)
    later = table.events["created_at"].search_sorted(ties["created_at"], side="right")
    first = np.tile(later.to_numpy()[(ties["u"] != ties["v"]).to_numpy()].astype(np.int64), 2)
    order = np.argsort(first, kind="stable")
    # An associate without a common event comes before everyone who is no associate.
    for name, value in (
        (ASSOCIATES, np.ones_like(counted.scores)),
        ("frequency_within_associates", counted.scores + 1),
    ):
        scores = np.zeros_like(counted.scores)
        scores[at_end] = value[at_end]
        changes = Changes(first[order], formed[order], value[formed[order]])
        yield undirected(name, Memory(pairs, scores, changes), relation)


def predictor_ranks(predictor: Predictor, events: pl.DataFrame) -> pl.DataFrame:
    """The ranks of a predictor that learns nothing: `idx`, `rank_v` and `rank_u` of `events` in order."""
    idx, u, v = (events[column].to_numpy() for column in ("idx", "u", "v"))  # (E,)
    return events.select(
        "idx",
        rank_v=pl.Series(predictor.targets.ranks(idx, u, v)),
        rank_u=pl.Series(predictor.actors.ranks(idx, v, u)),
    )


def baselines(table: EventTable) -> pl.DataFrame:
    """The table `baselines` of one dataset: every predictor on the test communications.

    It is stored beside the event table, as `baselines.parquet`.
    """
    events = table.events.filter(pl.col("split") == TEST, pl.col("kind") == COMMUNICATION_KIND)
    if events.is_empty():
        raise ValueError(f"dataset {table.name!r} has no test communication to rank; move its test_start")
    history = with_history(table.events).select("idx", "pair")
    rows = []
    for predictor in predictors(table):
        scores = baseline_scores(predictor_ranks(predictor, events).join(history, on="idx"))
        if predictor.name == RANDOM:
            scores = scores.with_columns(expected_in_random_order(table.nodes.height - 1))
        row = scores.with_columns(
            dataset=pl.lit(table.name),
            baseline=pl.lit(predictor.name),
            relation=pl.lit(predictor.relation, pl.String),
            by_role=pl.lit(predictor.by_role),
            as_of=pl.lit(table.as_of),
            fingerprint=pl.lit(table.metadata["fingerprint"]),
        )
        rows.append(BASELINES.stored().cast(row))
    return pl.concat(rows)


def expected_in_random_order(candidates: int) -> list[pl.Expr]:
    """Replace HITS@k and MRR by those expected of so many candidates in uniformly random order.

    The mean rank that ties share is already the expected rank, so MAR stays.
    """
    expected = {metric.name: min(k, candidates) / candidates for k, metric in HITS_AT.items()}
    expected[MRR.name] = sum(1 / place for place in range(1, candidates + 1)) / candidates
    return [
        pl.when(pl.col(f"{events}{name}").is_not_null()).then(value).alias(f"{events}{name}")
        for events in ("", "never_seen_")
        for name, value in expected.items()
    ]


def baseline_scores(ranked: pl.DataFrame) -> pl.DataFrame:
    """A baseline's metrics in one row: of all ranked events, and again of those whose pair was never seen."""
    strangers = ranked.filter(pl.col("pair") == NEVER_SEEN).select(metric_aggregations())
    return pl.concat(
        [ranked.select(metric_aggregations()), strangers.select(pl.all().name.prefix("never_seen_"))],
        how="horizontal",
    )
