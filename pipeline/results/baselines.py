"""Predictors that learn nothing: who-interacts-next from counts and memories, ranked by the models' own rule.

Every predictor is causal: an event is ranked from what happened before it in the table's order. A *frozen*
one stops looking at the end of training (the validation period included); an *online* one goes on observing
test events of both kinds, as the models do. A predictor `by_role` knows who acts and who is acted on; to
every other one a pair has no direction: an event counts for both its nodes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.names import FREQUENCY, NEVER_SEEN
from pipeline.progress import counted
from pipeline.results.metrics import metrics, mid_ranks, with_history
from pipeline.results.pairs import pair_counts, training_events
from pipeline.schemas import BASELINES

# Scores ranked at once: bounds the memory of a batch whatever the number of nodes.
BATCH_CELLS = 4_000_000
DECAY = timedelta(days=4)  # popularity fades by e in this time

Updates = Sequence[tuple[int, int, int]]  # (idx of the first event that knows of it, u, v), in order
Apply = Callable[[int, int, int], None]  # the same three


@dataclass(frozen=True)
class Predictor:
    """Scores of every node as the next partner of every node, and how they change during the test period.

    `scores` is (N, N), or (1, N) when every node sees the same scores; `apply` enters one of the `updates`
    into it in place, just before the first event that may know of it is ranked.

    A predictor by role also has `actor_scores`, of every node as the next to act on every node. `popularity`
    (2, N) orders those whose score is zero, behind all others: as targets, and as actors.
    """

    name: str
    scores: np.ndarray
    relation: str | None = None
    updates: Updates = ()
    apply: Apply | None = None
    actor_scores: np.ndarray | None = None
    popularity: np.ndarray | None = None

    @property
    def by_role(self) -> bool:
        """Whether the predictor knows who acted."""
        return self.actor_scores is not None


def predictors(table: EventTable) -> Iterator[Predictor]:
    """Every no-learn predictor of a dataset, one at a time: each holds an N × N matrix."""
    n = table.nodes.height
    training = training_events(table)
    test = table.events.filter(pl.col("split") == "test")
    happening: Updates = list(
        zip((test["idx"] + 1).to_list(), test["u"].to_list(), test["v"].to_list(), strict=True)
    )

    yield Predictor("random", np.zeros((1, n), np.int32))
    counts = pair_counts(training, n)
    yield Predictor(FREQUENCY, counts)
    for relation in table.metadata["relations"]:
        yield from associate_predictors(table, relation, counts)
    yield online("online_frequency", counts.copy(), happening, lambda scores, _, u, v: add(scores, u, v))
    seen = (counts > 0).astype(np.int32)
    yield online("pairs_seen", seen, happening, lambda scores, _, u, v: put(scores, u, v, 1))
    last = np.zeros((n, n), np.int32)
    for u, v in (("u", "v"), ("v", "u")):
        np.maximum.at(last, (training[u].to_numpy(), training[v].to_numpy()), training["idx"].to_numpy() + 1)
    yield online("online_recency", last, happening, lambda scores, first, u, v: put(scores, u, v, first))
    activity = counts.sum(axis=0, keepdims=True, dtype=np.int32)  # (1, N)
    yield online("popularity", activity, happening, lambda scores, _, u, v: np.add.at(scores[0], [u, v], 1))
    for by_role in (False, True):
        yield decayed_popularity(table.events, n, happening, by_role=by_role)
        yield recency_then_popularity(table.events, n, happening, by_role=by_role)


def decayed_popularity(events: pl.DataFrame, n: int, happening: Updates, *, by_role: bool) -> Predictor:
    """Nodes by their events, an event's weight fading by e every `DECAY`.

    By role, a target is ordered by the events it received, an actor by those it began.
    """
    popularity, observe = fading_popularity(events, n, by_role=by_role)
    nobody = np.zeros((1, n), np.int32)
    return Predictor(
        "decayed_popularity_by_role" if by_role else "decayed_popularity",
        nobody,
        updates=happening,
        apply=observe,
        actor_scores=nobody if by_role else None,
        popularity=popularity,
    )


def recency_then_popularity(events: pl.DataFrame, n: int, happening: Updates, *, by_role: bool) -> Predictor:
    """Partners by their last event, then everyone else by decayed popularity.

    By role, those the node acted on come first (or, for actors, those who acted on it), by the last time;
    then those met only the other way round.
    """
    popularity, observe = fading_popularity(events, n, by_role=by_role)
    scores = np.zeros((n, n), np.int64)
    actors = np.zeros((n, n), np.int64) if by_role else None
    same_way = events.height + 1  # lifts an event in the asked direction above every one in the other

    def remember(first: int, u: int, v: int) -> None:
        if actors is None:
            put(scores, u, v, first)
        else:
            for asked in (scores, actors):
                asked[u, v], asked[v, u] = max(asked[u, v], first), max(asked[v, u], first)
            scores[u, v] = actors[v, u] = same_way + first

    def apply(first: int, u: int, v: int) -> None:
        observe(first, u, v)
        remember(first, u, v)

    for idx, u, v in events.filter(pl.col("split") != "test").select("idx", "u", "v").iter_rows():
        remember(idx + 1, u, v)
    name = "recency_by_role_then_popularity" if by_role else "recency_then_popularity"
    return Predictor(name, scores, None, happening, apply, actors, popularity)


def fading_popularity(events: pl.DataFrame, n: int, *, by_role: bool) -> tuple[np.ndarray, Apply]:
    """log Σ exp(tᵢ / `DECAY`) over each node's events, (2, N) as target and as actor, and how to go on.

    Events of training are in it. The order of Σ exp(−(t − tᵢ) / `DECAY`) is the same at every t, and a
    logarithm does not overflow however long the stream.
    """
    at = (events["created_at"] - events["created_at"][0]).dt.total_microseconds().to_numpy()
    exponents = at / (DECAY / timedelta(microseconds=1))
    popularity = np.full((2, n), -np.inf)

    def observe(first: int, u: int, v: int) -> None:
        exponent = exponents[first - 1]
        for role, node in ((0, v), (1, u)) if by_role else ((0, u), (0, v), (1, u), (1, v)):
            popularity[role, node] = np.logaddexp(popularity[role, node], exponent)

    for idx, u, v in events.filter(pl.col("split") != "test").select("idx", "u", "v").iter_rows():
        observe(idx + 1, u, v)
    return popularity, observe


def online(
    name: str, scores: np.ndarray, updates: Updates, change: Callable[[np.ndarray, int, int, int], None]
) -> Predictor:
    """A predictor that goes on observing."""
    return Predictor(name, scores, updates=updates, apply=lambda first, u, v: change(scores, first, u, v))


def associate_predictors(table: EventTable, relation: str, counts: np.ndarray) -> Iterator[Predictor]:
    """Random among associates, and training frequency within associates, for one relation.

    Associates are those of the graph at the end of training, in either direction, and those who form a tie
    during the test period, from the first later event on. A tie that dissolves leaves no event, so it stays.
    """
    n = table.nodes.height
    graph = table.associations.filter(
        pl.col("relation") == relation, pl.col("snapshot") == "final", pl.col("u") != pl.col("v")
    )
    ties = new_ties(table, relation)
    associates = np.zeros((n, n), np.int32)
    put(associates, graph["u"].to_numpy(), graph["v"].to_numpy(), 1)
    # An associate without a common event comes before everyone who is no associate.
    frequency = associates * (counts + 1)
    yield Predictor("associates", associates, relation, ties, lambda _, u, v: put(associates, u, v, 1))
    yield Predictor(
        "frequency_within_associates",
        frequency,
        relation,
        ties,
        lambda _, u, v: put(frequency, u, v, counts[u, v] + 1),
    )


def new_ties(table: EventTable, relation: str) -> Updates:
    """Associations of a relation that form in the test period, each with the first event later than it."""
    start = pl.lit(table.metadata["split"]["test_start"]).str.to_datetime(time_unit="us")
    formed = table.association_events.filter(pl.col("relation") == relation, pl.col("created_at") >= start)
    first = table.events["created_at"].search_sorted(formed["created_at"], side="right")
    return list(zip(first.to_list(), formed["u"].to_list(), formed["v"].to_list(), strict=True))


def add(scores: np.ndarray, u: int, v: int) -> None:
    """One more event of a pair, in both directions."""
    scores[u, v] += 1
    scores[v, u] += 1


def put(scores: np.ndarray, u: np.ndarray | int, v: np.ndarray | int, value: int) -> None:
    """Set the score of each pair, in both directions."""
    scores[u, v] = value
    scores[v, u] = value


def ranks(predictor: Predictor, events: pl.DataFrame, n: int) -> pl.DataFrame:
    """`idx`, `rank_v` and `rank_u` of `events` in order; updates enter as they become known."""
    scores = np.broadcast_to(predictor.scores, (n, n))
    actor_scores = predictor.scores if predictor.actor_scores is None else predictor.actor_scores
    actor_scores = np.broadcast_to(actor_scores, (n, n))
    popularity = predictor.popularity
    batch = max(1, BATCH_CELLS // n)
    updates, entered = predictor.updates, 0
    parts = []
    slices = events.select("idx", "u", "v").iter_slices(batch)
    for rows in counted(slices, -(-events.height // batch), f"rank by {predictor.name}", "batches"):
        idx, u, v = (rows[column].to_numpy() for column in ("idx", "u", "v"))  # (B,)
        of_u, of_v = np.empty((2, len(idx), n), scores.dtype if popularity is None else np.float64)  # (B, N)
        for row, (event, source, target) in enumerate(zip(idx.tolist(), u.tolist(), v.tolist(), strict=True)):
            while entered < len(updates) and updates[entered][0] <= event:
                assert predictor.apply is not None
                predictor.apply(*updates[entered])
                entered += 1
            of_u[row], of_v[row] = scores[source], actor_scores[target]
            if popularity is not None:
                for role, of_role in enumerate((of_u[row], of_v[row])):
                    behind = of_role == 0
                    # Scores are positive: the most popular stranger is put below all of them.
                    of_role[behind] = (popularity[role] - popularity[role].max())[behind]
        parts.append(
            rows.select("idx").with_columns(
                rank_v=pl.Series(mid_ranks(of_u, v, u)), rank_u=pl.Series(mid_ranks(of_v, u, v))
            )
        )
    return pl.concat(parts)


def baselines(table: EventTable) -> pl.DataFrame:
    """The table `baselines` of one dataset: every predictor on the test communications.

    It is stored beside the event table, as `baselines.parquet`.
    """
    events = table.events.filter(pl.col("split") == "test", pl.col("kind") == "communication")
    if events.is_empty():
        raise ValueError(f"dataset {table.name!r} has no test communication to rank; move its test_start")
    history = with_history(table.events).select("idx", "pair")
    return pl.concat(
        BASELINES.stored().cast(
            scored(ranks(predictor, events, table.nodes.height).join(history, on="idx")).with_columns(
                dataset=pl.lit(table.name),
                baseline=pl.lit(predictor.name),
                relation=pl.lit(predictor.relation, pl.String),
                by_role=pl.lit(predictor.by_role),
                as_of=pl.lit(table.as_of),
                fingerprint=pl.lit(table.metadata["fingerprint"]),
            )
        )
        for predictor in predictors(table)
    )


def scored(ranked: pl.DataFrame) -> pl.DataFrame:
    """Metrics of ranked events in one row, and again of those whose pair was never seen."""
    strangers = ranked.filter(pl.col("pair") == NEVER_SEEN).select(metrics())
    return pl.concat(
        [ranked.select(metrics()), strangers.select(pl.all().name.prefix("never_seen_"))], how="horizontal"
    )
