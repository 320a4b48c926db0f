"""Statistics of the user's own columns: last and mean values of events, and values of nodes.

A decayed mean Σ x·exp(−(t − tᵢ)/τ) / (Σ exp(−(t − tᵢ)/τ) + prior) is stored as numerator, denominator and
their time, for each pair that occurs and for each node in each role: O(1) to update. As its events decay it
shrinks to 0, the average of the training period. The last value (τ = 0) does not decay, so it shows the
latest event at any event rate. A stream without own columns does not use this module.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from model.history.compiled import compiled
from model.history.registry import Statistic
from model.history.state import DAY, NONE
from model.stream import Stream
from pipeline.event_table import EventTable
from pipeline.names import TRAIN

TAUS = np.array([0.0, DAY, 30 * DAY])  # 0: the last value only
TAU_NAMES = ("last", "1d", "30d")
SHRINK = 0.1  # pseudo-events that shrink a mean


class OwnColumns(NamedTuple):
    """The own columns of a stream, standardized: C of its T events, D of its N nodes."""

    event_names: tuple[str, ...]
    node_names: tuple[str, ...]
    of_events: np.ndarray  # (T, C), NaN where unknown
    of_nodes: np.ndarray  # (N, D), 0 where unknown


class Means(NamedTuple):
    """Decayed means of C columns at the τ of `TAUS`, of P directed pairs and of N nodes in both roles."""

    pairs: np.ndarray  # (P) a·N + b, sorted: the pairs that occur in the stream
    pair_sum: np.ndarray  # (P, C, τ, 2) numerator and denominator
    pair_at: np.ndarray  # (P, C) time of these sums in seconds
    node_sum: np.ndarray  # (2, N, C, τ, 2) as actor, as target
    node_at: np.ndarray  # (2, N, C)


def own_columns(table: EventTable) -> OwnColumns | None:
    """Return the standardized own columns of a table, or None if it has none."""
    of_events, of_nodes = table.own_columns("events"), table.own_columns("nodes")
    if not of_events and not of_nodes:
        return None
    training = table.events.filter(pl.col("split") == TRAIN)
    return OwnColumns(
        tuple(of_events),
        tuple(of_nodes),
        standardized(table.events.select(of_events), training),
        np.nan_to_num(standardized(table.nodes.select(of_nodes), table.nodes)),
    )


def standardized(rows: pl.DataFrame, like: pl.DataFrame) -> np.ndarray:
    """Standardize `rows` by mean and standard deviation of `like`; unknown values become NaN."""
    values = np.full((rows.height, rows.width), np.nan)
    for place, column in enumerate(rows.columns):
        numbers = like[column].drop_nulls().to_numpy()
        mean, spread = (numbers.mean(), numbers.std()) if len(numbers) else (0.0, 0.0)
        values[:, place] = (rows[column].fill_null(np.nan).to_numpy() - mean) / (
            spread if spread > 0 else 1.0
        )
    return values


def own_statistics(columns: OwnColumns) -> tuple[Statistic, ...]:
    """Return the statistics in the order written: of the pair, then of both nodes and their difference."""
    names, ends = columns.event_names, ("a_own", "b_own", "own_gap")
    of_pair = (f"own_{way}_{name}_{tau}" for name in names for tau in TAU_NAMES for way in ("ab", "ba"))
    of_ends = (f"{end}_{name}_{tau}" for name in names for tau in TAU_NAMES for end in ends)
    of_nodes = (f"{end}_{name}" for name in columns.node_names for end in ends)
    return (
        *(Statistic(name, "own_pair", "past", "plain") for name in of_pair),
        *(Statistic(name, "own", "between", "plain") for name in (*of_ends, *of_nodes)),
    )


def new_means(u: np.ndarray, v: np.ndarray, nodes: int, columns: int) -> Means:
    """Return the empty means of a stream with events from `u` to `v`."""
    pairs = np.unique(np.concatenate([u * nodes + v, v * nodes + u]))
    taus = len(TAUS)
    return Means(
        pairs,
        np.zeros((len(pairs), columns, taus, 2)),
        np.zeros((len(pairs), columns)),
        np.zeros((2, nodes, columns, taus, 2)),
        np.zeros((2, nodes, columns)),
    )


@compiled
def remember_number(sums: np.ndarray, at: np.ndarray, column: int, now: float, value: float) -> None:
    """Add a value to the means of a column: `sums` (C, τ, 2), `at` (C)."""
    for tau in range(len(TAUS)):
        faded = np.exp(-(now - at[column]) / TAUS[tau]) if TAUS[tau] > 0 else 0.0
        sums[column, tau, 0] = sums[column, tau, 0] * faded + value
        sums[column, tau, 1] = sums[column, tau, 1] * faded + 1.0
    at[column] = now


@compiled
def mean_now(sums: np.ndarray, at: np.ndarray, column: int, tau: int, now: float) -> float:
    """Return the mean at second `now`, or the last value for τ = 0; 0 before the first."""
    if TAUS[tau] == 0:
        return sums[column, tau, 0]
    faded = np.exp(-(now - at[column]) / TAUS[tau])
    return sums[column, tau, 0] * faded / (sums[column, tau, 1] * faded + SHRINK)


@compiled
def pair_slot(means: Means, a: int, b: int) -> int:
    """Find the index of a→b among the sorted pairs by binary search; `NONE` if it never occurs."""
    key, low, high = a * means.node_at.shape[1] + b, 0, len(means.pairs)
    while low < high:
        middle = (low + high) // 2
        if means.pairs[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(means.pairs) and means.pairs[low] == key else NONE


@compiled
def observe_own(means: Means, u: int, v: int, now: float, values: np.ndarray) -> None:
    """Add an event of u acting on v with these values; NaN (unknown) is skipped."""
    slot = pair_slot(means, u, v)
    for column in range(len(values)):
        if not np.isnan(values[column]):
            remember_number(means.pair_sum[slot], means.pair_at[slot], column, now, values[column])
            remember_number(means.node_sum[0, u], means.node_at[0, u], column, now, values[column])
            remember_number(means.node_sum[1, v], means.node_at[1, v], column, now, values[column])


@compiled
def pair_mean(means: Means, a: int, b: int, column: int, tau: int, now: float) -> float:
    """Return the mean over a's events with b; 0 without any."""
    slot = pair_slot(means, a, b)
    return 0.0 if slot == NONE else mean_now(means.pair_sum[slot], means.pair_at[slot], column, tau, now)


@compiled
def fill_own(means: Means, of_nodes: np.ndarray, a: int, b: int, now: float, out: np.ndarray) -> None:
    """Write the statistics of a→b to `out`, in the order of `own_statistics`."""
    columns, taus = means.node_at.shape[2], len(TAUS)
    at, own = 0, 2 * columns * taus
    for column in range(columns):
        for tau in range(taus):
            out[at] = pair_mean(means, a, b, column, tau, now)
            out[at + 1] = pair_mean(means, b, a, column, tau, now)
            of_a = mean_now(means.node_sum[0, a], means.node_at[0, a], column, tau, now)
            of_b = mean_now(means.node_sum[1, b], means.node_at[1, b], column, tau, now)
            usual = mean_now(means.node_sum[1, b], means.node_at[1, b], column, taus - 1, now)
            out[own], out[own + 1], out[own + 2] = of_a, of_b, abs(of_a - usual)
            at, own = at + 2, own + 3
    for column in range(of_nodes.shape[1]):
        of_a, of_b = of_nodes[a, column], of_nodes[b, column]
        out[own], out[own + 1], out[own + 2] = of_a, of_b, abs(of_a - of_b)
        own += 3


@compiled
def ask_own(
    means: Means,
    of_nodes: np.ndarray,
    anchor: int,
    forward: bool,
    others: np.ndarray,
    now: float,
    out: np.ndarray,
) -> None:
    """Write the statistics of anchor→other, or other→anchor, for all `others` to `out` (C, F)."""
    for row in range(len(others)):
        a, b = (anchor, others[row]) if forward else (others[row], anchor)
        fill_own(means, of_nodes, a, b, now, out[row])


@compiled
def pass_own(
    means: Means,
    of_nodes: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    seconds: np.ndarray,
    values: np.ndarray,
    by_role: bool,
    asked: np.ndarray,
    candidates: np.ndarray,
    out: np.ndarray,
) -> None:
    """Query and then add each event of a chunk, as `passes.pass_over` does."""
    for event in range(len(u)):
        row, now = asked[event], seconds[event]
        if row >= 0:
            ask_own(means, of_nodes, u[event], True, candidates[row, 0], now, out[row, 0])
            ask_own(means, of_nodes, v[event], not by_role, candidates[row, 1], now, out[row, 1])
        observe_own(means, u[event], v[event], now, values[event])
        if not by_role:
            observe_own(means, v[event], u[event], now, values[event])


class OwnMemory:
    """The means of a stream's own columns up to the current position."""

    def __init__(self, stream: Stream, columns: OwnColumns, *, by_role: bool) -> None:
        self.stream, self.columns, self.by_role = stream, columns, by_role
        self.statistics = own_statistics(columns)
        self.means = new_means(stream.u, stream.v, stream.nodes, len(columns.event_names))

    def read(self, chunk: slice, asked: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Add the events of `chunk`; return statistics (M, 2, C, F) of the queried ones.

        `asked` holds each event's row of `candidates` (M, 2, C), or −1.
        """
        out = np.empty((*candidates.shape, len(self.statistics)), np.float32)
        u, v, seconds = (array[chunk] for array in (self.stream.u, self.stream.v, self.stream.seconds))
        values = self.columns.of_events[chunk]
        pass_own(
            self.means, self.columns.of_nodes, u, v, seconds, values, self.by_role, asked, candidates, out
        )
        return out

    def ask(self, node: int, now: float, *, acts: bool, others: np.ndarray) -> np.ndarray:
        """Return statistics (N, F) of `node` with `others` at second `now`, adding no event."""
        out = np.empty((len(others), len(self.statistics)), np.float32)
        ask_own(self.means, self.columns.of_nodes, node, acts, others, now, out)
        return out
