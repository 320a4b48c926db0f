"""Baselines without learning: rank the next partner by counts and recency, with the models' ranking rule.

Every predictor is causal: it ranks an event from earlier events only. A *frozen* predictor stops observing at
the end of training (validation included); an *online* one also observes test events of both kinds, as the
models do. A `by_role` predictor distinguishes source from target; for all others a pair is undirected, and an
event counts for both its nodes.
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

DECAY = timedelta(days=4)  # popularity decays by a factor e in this time


@dataclass(frozen=True)
class Predictor:
    """A baseline: scores that rank the candidate targets of a source, and the candidate actors of a target.

    Unless the predictor is `by_role`, both are the same.
    """

    name: str
    targets: "Memory"
    actors: "Memory"
    relation: str | None = None
    by_role: bool = False

    @property
    def frozen(self) -> "Predictor":
        """The same predictor without updates from the test period."""
        return replace(self, targets=self.targets.frozen, actors=self.actors.frozen)


@dataclass(frozen=True)
class Observed:
    """Events as predictors observe them: those before the test period in advance, test events one by one."""

    events: pl.DataFrame  # in order, with idx, u, v, split and created_at
    pairs: Pairs

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets of the events: (E,) each."""
        return self.events["u"].to_numpy().astype(np.int64), self.events["v"].to_numpy().astype(np.int64)

    @cached_property
    def known_from(self) -> np.ndarray:
        """The idx of the first event that may use each event: (E,)."""
        return self.events["idx"].to_numpy().astype(np.int64) + 1

    @cached_property
    def in_test(self) -> np.ndarray:
        """Mask of the events of the test period: (E,)."""
        return (self.events["split"] == TEST).to_numpy()

    @cached_property
    def counts(self) -> np.ndarray:
        """Running number of events of each event's pair, that event included, in either direction: (E,)."""
        low, high = pl.min_horizontal("u", "v"), pl.max_horizontal("u", "v")
        return self.events.select(pl.int_range(1, pl.len() + 1).over(low, high)).to_series().to_numpy()

    def memory(self, forth: np.ndarray | int, back: np.ndarray | int) -> "Memory":
        """Return pair scores that each event raises, of (u, v) to its `forth` and of (v, u) to its `back`."""
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
        """Return `memory` with a second criterion: events raise popularity of `nodes` (E, R) to `values`."""
        from pipeline.results.exact_ranks import Changes

        popularity = np.zeros(self.pairs.nodes, np.int64)
        before, test = ~self.in_test, self.in_test
        np.maximum.at(popularity, nodes[before], values[before])
        first = np.repeat(self.known_from[test], nodes.shape[1])
        later = Changes(first, nodes[test].ravel(), values[test].ravel())
        return replace(memory, popularity=popularity, popularity_changes=later)


def predictors(table: EventTable) -> Iterator[Predictor]:
    """Yield every baseline of a dataset."""
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
    """Return a predictor that ignores the direction of pairs."""
    return Predictor(name, memory, memory, relation)


def decayed_popularity(observed: Observed, *, by_role: bool) -> Predictor:
    """Rank nodes by their number of events, each event decayed by a factor e every `DECAY`.

    By role, targets are ranked by events received, actors by events initiated.
    """
    nobody = observed.memory(0, 0)
    name = "decayed_popularity_by_role" if by_role else "decayed_popularity"
    return then_popularity(observed, Predictor(name, nobody, nobody, by_role=by_role))


def recency_then_popularity(observed: Observed, *, by_role: bool) -> Predictor:
    """Rank partners by their last event, then all other nodes by decayed popularity.

    By role, partners in the queried direction (those the node acted on or, for actors, those who acted on it)
    come first, by their last event; then partners in the opposite direction only.
    """
    when = observed.known_from
    if not by_role:
        return then_popularity(observed, undirected("recency_then_popularity", observed.memory(when, when)))
    # Scores events in the queried direction above all events in the opposite one.
    same_way = when + observed.events.height + 1
    targets, actors = observed.memory(same_way, when), observed.memory(when, same_way)
    return then_popularity(
        observed, Predictor("recency_by_role_then_popularity", targets, actors, by_role=True)
    )


def then_popularity(observed: Observed, predictor: Predictor) -> Predictor:
    """Add decayed popularity as second criterion: in the queried role if `by_role`, else in both roles."""
    u, v = (of[:, None] for of in observed.nodes)  # (E, 1)
    both = np.concatenate([u, v], 1)  # (E, 2)
    as_target, as_actor = (v, u) if predictor.by_role else (both, both)
    targets = observed.popularity(predictor.targets, as_target, fading(observed.events, as_target))
    if not predictor.by_role:
        return replace(predictor, targets=targets, actors=targets)
    actors = observed.popularity(predictor.actors, as_actor, fading(observed.events, as_actor))
    return replace(predictor, targets=targets, actors=actors)


def running_count(nodes: np.ndarray) -> np.ndarray:
    """Count the occurrences of each of `nodes` (E, R) up to and including its own."""
    occurred = pl.DataFrame({"node": nodes.ravel()}).select(pl.int_range(1, pl.len() + 1).over("node"))
    return occurred.to_series().to_numpy().reshape(nodes.shape)


def fading(events: pl.DataFrame, nodes: np.ndarray) -> np.ndarray:
    """Return the dense rank, from 1, of the decayed popularity of `nodes` (E, R) after each event: (E, R).

    The ranked value is log Σ exp(tᵢ / `DECAY`) over the node's events. Σ exp(−(t − tᵢ) / `DECAY`) has the
    same order at every t, and the logarithm does not overflow on long streams.
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
    """Yield two baselines for one relation: random among associates, and training frequency among associates.

    Associates are neighbours in the graph at the end of training, in either direction, and pairs that form a
    tie in the test period, from the next event on. Dissolved ties remain, because they leave no event.
    """
    from pipeline.results.exact_ranks import Changes, Memory

    pairs = counted.pairs
    graph = table.associations.filter(pl.col("relation") == relation, pl.col("snapshot") == FINAL)
    start = pl.lit(table.metadata["split"]["test_start"]).str.to_datetime(time_unit="us")
    events = table.association_events.filter(pl.col("relation") == relation)
    ties, before = events.filter(pl.col("created_at") >= start), events.filter(pl.col("created_at") < start)
    # The final graph may include ties formed in the test period: remove them.
    to_come = ties.select(EITHER_WAY).join(before.select(EITHER_WAY), on=["low", "high"], how="anti")
    graph = graph.with_columns(EITHER_WAY).join(to_come, on=["low", "high"], how="anti")
    at_end, formed = both_ways(graph, pairs), both_ways(ties, pairs)
    later = table.events["created_at"].search_sorted(ties["created_at"], side="right")
    first = np.tile(later.to_numpy()[(ties["u"] != ties["v"]).to_numpy()].astype(np.int64), 2)
    order = np.argsort(first, kind="stable")
    # An associate without a common event still ranks above all non-associates.
    for name, value in (
        (ASSOCIATES, np.ones_like(counted.scores)),
        ("frequency_within_associates", counted.scores + 1),
    ):
        scores = np.zeros_like(counted.scores)
        scores[at_end] = value[at_end]
        changes = Changes(first[order], formed[order], value[formed[order]])
        yield undirected(name, Memory(pairs, scores, changes), relation)


def predictor_ranks(predictor: Predictor, events: pl.DataFrame) -> pl.DataFrame:
    """Return a baseline's ranks of `events`, in order: columns `idx`, `rank_v` and `rank_u`."""
    idx, u, v = (events[column].to_numpy() for column in ("idx", "u", "v"))  # (E,)
    return events.select(
        "idx",
        rank_v=pl.Series(predictor.targets.ranks(idx, u, v)),
        rank_u=pl.Series(predictor.actors.ranks(idx, v, u)),
    )


def baselines(table: EventTable) -> pl.DataFrame:
    """Return the table `baselines` of one dataset: every baseline on the test communications.

    It is stored as `baselines.parquet` beside the event table. Raises ValueError without test communications.
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
    """Return expressions that set HITS@k and MRR to their expectation over random orders of `candidates`.

    MAR is unchanged: the mean rank of ties is already the expected rank.
    """
    expected = {metric.name: min(k, candidates) / candidates for k, metric in HITS_AT.items()}
    expected[MRR.name] = sum(1 / place for place in range(1, candidates + 1)) / candidates
    return [
        pl.when(pl.col(f"{events}{name}").is_not_null()).then(value).alias(f"{events}{name}")
        for events in ("", "never_seen_")
        for name, value in expected.items()
    ]


def baseline_scores(ranked: pl.DataFrame) -> pl.DataFrame:
    """Aggregate metrics into one row: over all ranked events, and over those of never-seen pairs."""
    strangers = ranked.filter(pl.col("pair") == NEVER_SEEN).select(metric_aggregations())
    return pl.concat(
        [ranked.select(metric_aggregations()), strangers.select(pl.all().name.prefix("never_seen_"))],
        how="horizontal",
    )
