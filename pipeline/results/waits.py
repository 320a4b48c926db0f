"""How good a forecast of waiting times is: scores of distributions, and predictors that learn nothing.

A wait is the time from one event of a node, or of a pair, to its next, in whole seconds. A forecast is a
distribution over bins of such waits, flat within a bin: `masses` (waits, bins) over `edges` (bins + 1).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr

from pipeline.names import FREQUENCY, HORIZONS, brier_name

HOUR, DAY = 3_600, 86_400
TENTHS = 10
RATE_DECAY = 30 * DAY
UNKNOWN_GAP = 7 * DAY  # the wait before a first one
LEAST_MASS = 1e-12  # of a bin: no forecast is infinitely surprised
NO_WAIT_ENDED = dict.fromkeys(("log_score", "crps_hours", "pit_distance", "pit_lowest_tenth"), math.nan)


@dataclass(frozen=True)
class Waits:
    """Waiting times to be forecast, each with who waits and the moment it began.

    A wait that had not ended when the events stop is `open`: its `seconds` are how long it was seen to last.
    """

    node: np.ndarray  # (W) int64, or the number of a pair
    began: np.ndarray  # (W) float64, seconds on the stream's clock
    seconds: np.ndarray  # (W) float64
    open: np.ndarray  # (W) bool

    def __len__(self) -> int:
        return len(self.node)

    def __getitem__(self, rows: np.ndarray) -> "Waits":
        return Waits(self.node[rows], self.began[rows], self.seconds[rows], self.open[rows])

    def seen_until(self, moment: float) -> "Waits":
        """The waits that began before `moment`, as they were known then: later ends are not."""
        waits = self[self.began < moment]
        ended = ~waits.open & (waits.began + waits.seconds < moment)
        return Waits(
            waits.node, waits.began, np.where(ended, waits.seconds, moment - waits.began), open=~ended
        )


def waits_between(node: np.ndarray, began: np.ndarray, end: float) -> Waits:
    """From each moment in which a node took part to its next one; rows are in the order of time."""
    order = np.argsort(node, kind="stable")
    is_last = np.append(node[order][1:] != node[order][:-1], values=True)
    following = np.append(order[1:], 0)
    seconds, still_open = np.empty(len(node)), np.empty(len(node), dtype=bool)
    seconds[order] = np.where(is_last, end - began[order], began[following] - began[order])
    still_open[order] = is_last
    return Waits(node, began, seconds, still_open)


@dataclass(frozen=True)
class Past:
    """What predictors that learn nothing know as each wait begins."""

    gap: np.ndarray  # (W) the wait before this one
    rate: np.ndarray  # (W) events per second, decayed over 30 days
    frequency: np.ndarray  # (W) events per second since the stream began

    def __getitem__(self, rows: np.ndarray) -> "Past":
        return Past(self.gap[rows], self.rate[rows], self.frequency[rows])


def past_of(waits: Waits) -> Past:
    """One pass over the beginnings of the waits, in the order of time."""
    past = Past(*(np.empty(len(waits)) for _ in range(3)))
    state: dict[int, tuple[float, float, int]] = {}  # last moment, decayed events, events
    for row, (node, began) in enumerate(zip(waits.node.tolist(), waits.began.tolist(), strict=True)):
        last, decayed, count = state.get(node, (began - UNKNOWN_GAP, 0.0, 0))
        decayed = decayed * math.exp(-(began - last) / RATE_DECAY) + 1.0
        state[node] = began, decayed, count + 1
        past.gap[row] = began - last
        past.rate[row] = decayed / RATE_DECAY
        past.frequency[row] = (count + 1) / max(began, DAY)
    return past


def bin_of(seconds: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin that each wait falls into; the last one takes whatever is longer."""
    return np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)


def probability_within(masses: np.ndarray, edges: np.ndarray, horizon: float) -> np.ndarray:
    """P(wait < horizon) for each forecast."""
    share = np.clip((horizon - edges[:-1]) / np.diff(edges), 0, 1)  # (bins)
    return masses @ share


def score_waits(waits: Waits, masses: np.ndarray, edges: np.ndarray) -> dict[str, float | int]:
    """Log score (nats, of the very second), CRPS in hours, distance of the PIT from uniform, Brier scores.

    Open waits count for the PIT, where they may still fall anywhere above what they have reached, for a
    horizon that they have outlasted, and for nothing else. What nothing can be said of is not a number.
    """
    scores: dict[str, float | int] = {
        "waits": int((~waits.open).sum()),
        "open_waits": int(waits.open.sum()),
        **(score_ended(waits, masses, edges) if not waits.open.all() else NO_WAIT_ENDED),
    }
    for name, horizon in HORIZONS.items():
        predicted, happened = outcomes(waits, masses, edges, horizon)
        scores[brier_name(name)] = float(((predicted - happened) ** 2).mean()) if len(happened) else math.nan
    return scores


def score_ended(waits: Waits, masses: np.ndarray, edges: np.ndarray) -> dict[str, float]:
    """The scores that need a wait that ended."""
    ended = ~waits.open
    seconds, of_ended = waits.seconds[ended], masses[ended]
    bins = bin_of(seconds, edges)
    mass = of_ended[np.arange(len(bins)), bins] / np.diff(edges)[bins]
    pit, share = pit_distribution(probability_integral(waits, masses, edges), waits.open)
    return {
        "log_score": float(np.log(np.maximum(mass, LEAST_MASS)).mean()),
        "crps_hours": float(continuous_ranked_probability(seconds, of_ended, edges).mean() / HOUR),
        "pit_distance": float(np.abs(share - pit).max()),
        "pit_lowest_tenth": float(np.interp(1 / TENTHS, pit, share)),
    }


def probability_integral(waits: Waits, masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Where each wait falls in its forecast, 0…1, or has come to if it is open: uniform if calibrated.

    Waits are whole seconds, so each is spread over its second, by the same draws for every predictor.
    """
    bins, rows = bin_of(waits.seconds, edges), np.arange(len(waits))
    below = np.cumsum(masses, axis=1)[rows, bins] - masses[rows, bins]
    spread = np.where(waits.open, 0.0, np.random.default_rng(0).random(len(waits)))
    within = np.clip((waits.seconds - edges[bins] + spread) / np.diff(edges)[bins], 0, 1)
    return below + masses[rows, bins] * within


def pit_distribution(pit: np.ndarray, still_open: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (E) of the PIT of ended waits, rising, and the share (E) at or below each.

    The product-limit estimate: an open wait counts among those that reach a value as long as it is known to.
    Without open waits it is the plain share; leaving them out would call long waits too rare.
    """
    order = np.argsort(pit, kind="stable")
    ended = ~still_open[order]
    reached = np.arange(len(pit), 0, -1)
    share = 1 - np.cumprod(np.where(ended, 1 - 1 / reached, 1.0))
    return pit[order][ended], share[ended]


def continuous_ranked_probability(seconds: np.ndarray, masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """∫ (F(x) − 1{x ≥ wait})² dx for each forecast, exactly: F is linear within a bin."""
    width = np.diff(edges)  # (B)
    upper = np.cumsum(masses, axis=1)  # (W, B)
    lower = upper - masses
    slope = masses / width
    cut = (
        np.clip(seconds[:, None], edges[:-1], edges[1:]) - edges[:-1]
    )  # (W, B), the part of a bin before the wait
    middle = lower + slope * cut

    def squares(start: np.ndarray, end: np.ndarray, length: np.ndarray) -> np.ndarray:
        return (start**2 + start * end + end**2) * length / 3

    before = squares(lower, middle, cut)
    after = squares(1 - middle, 1 - upper, width - cut)
    return (before + after).sum(axis=1)


def outcomes(
    waits: Waits, masses: np.ndarray, edges: np.ndarray, horizon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Predicted probability and outcome (0 or 1) of an event within `horizon`, where it is known."""
    certain = ~waits.open | (waits.seconds >= horizon)
    happened = (~waits.open & (waits.seconds < horizon))[certain]
    return probability_within(masses[certain], edges, horizon), happened.astype(np.float64)


def reliability(predicted: np.ndarray, happened: np.ndarray) -> pl.DataFrame:
    """For each tenth of the scale that has forecasts: mean prediction, observed share, their number."""
    tenth = np.minimum((predicted * TENTHS).astype(np.int64), TENTHS - 1)
    return (
        pl.DataFrame({"tenth": tenth, "predicted": predicted, "observed": happened})
        .group_by("tenth")
        .agg(pl.mean("predicted"), pl.mean("observed"), forecasts=pl.len().cast(pl.Int64))
        .sort("tenth")
    )


def no_learn_forecasts(
    earlier: Waits, earlier_past: Past, past: Past, edges: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Each predictor that learns nothing and its masses (W, B), from the `earlier` waits.

    `past` is what is known as each wait to be forecast begins, `earlier_past` the same of the earlier ones.
    """
    ended, rows = ~earlier.open, len(past.gap)
    counts = np.bincount(bin_of(earlier.seconds[ended], edges), minlength=len(edges) - 1) + 0.5
    yield "histogram", np.broadcast_to(counts / counts.sum(), (rows, len(counts)))
    logs, gaps = np.log(earlier.seconds[ended] + 0.5), np.log(earlier_past.gap[ended] + 0.5)
    yield "lognormal", lognormal(np.full(rows, logs.mean()), logs.std(), edges)
    slope = np.cov(gaps, logs, bias=True)[0, 1] / max(gaps.var(), LEAST_MASS)
    level = logs.mean() - slope * gaps.mean()
    yield (
        "last_gap",
        lognormal(slope * np.log(past.gap + 0.5) + level, (logs - slope * gaps - level).std(), edges),
    )
    yield "rate", masses_between_edges(1 - np.exp(-past.rate[:, None] * edges))
    yield FREQUENCY, masses_between_edges(1 - np.exp(-past.frequency[:, None] * edges))


def lognormal(center: np.ndarray, spread: float, edges: np.ndarray) -> np.ndarray:
    """Masses of waits whose logarithm is normal around `center`."""
    return masses_between_edges(ndtr((np.log(np.maximum(edges, 1e-9)) - center[:, None]) / max(spread, 1e-3)))


def masses_between_edges(cumulative: np.ndarray) -> np.ndarray:
    """Masses between the edges; what lies beyond the last one is in the last bin."""
    masses = np.maximum(np.diff(cumulative, axis=1), LEAST_MASS)
    masses[:, -1] += np.maximum(1 - cumulative[:, -1], 0)
    return masses


def wait_scores(
    waits: Waits, edges: np.ndarray, learned: tuple[str, np.ndarray], others: Iterable[tuple[str, np.ndarray]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Scores of a learned predictor and of those that learn nothing, each with its masses; and reliability.

    `gain` is the log score over the best that learns nothing, `brier_skill_1d` the share of the Brier score
    of plain frequency that a predictor saves.
    """
    forecasts = [learned, *others]
    scores = [{"predictor": name, **score_waits(waits, masses, edges)} for name, masses in forecasts]
    table = pl.DataFrame(scores).fill_nan(None)
    best = table["log_score"][1:].max()
    plain = table.filter(pl.col("predictor") == FREQUENCY)["brier_1d"][0]
    calibration = [
        reliability(*outcomes(waits, masses, edges, horizon)).with_columns(
            predictor=pl.lit(predictor), horizon=pl.lit(name)
        )
        for predictor, masses in forecasts
        for name, horizon in HORIZONS.items()
    ]
    return (
        table.with_columns(gain=pl.col("log_score") - best, brier_skill_1d=1 - pl.col("brier_1d") / plain),
        pl.concat(calibration),
    )
