"""Evaluation of waiting-time forecasts: proper scores, calibration, and baselines without learning.

A wait is the time from one event of a node, or of a pair, to its next, in whole seconds. A forecast is a
distribution over bins of such waits, uniform within a bin: `masses` (waits, bins) over `edges` (bins + 1).
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
UNKNOWN_GAP = 7 * DAY  # gap assumed before a first event
LEAST_MASS = 1e-12  # of a bin: keeps log scores finite
NO_WAIT_ENDED = dict.fromkeys(("log_score", "crps_hours", "pit_distance", "pit_lowest_tenth"), math.nan)


@dataclass(frozen=True)
class Waits:
    """Waiting times to forecast, each with its subject and start time.

    An `open` wait is right-censored by the end of the events: its `seconds` are the time observed so far.
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
        """Return the waits that began before `moment`, censored at `moment`."""
        waits = self[self.began < moment]
        ended = ~waits.open & (waits.began + waits.seconds < moment)
        return Waits(
            waits.node, waits.began, np.where(ended, waits.seconds, moment - waits.began), open=~ended
        )


def waits_between(node: np.ndarray, began: np.ndarray, end: float) -> Waits:
    """Return the wait from each event of a node to its next, the last censored at `end`; rows are by time."""
    order = np.argsort(node, kind="stable")
    is_last = np.append(node[order][1:] != node[order][:-1], values=True)
    following = np.append(order[1:], 0)
    seconds, still_open = np.empty(len(node)), np.empty(len(node), dtype=bool)
    seconds[order] = np.where(is_last, end - began[order], began[following] - began[order])
    still_open[order] = is_last
    return Waits(node, began, seconds, still_open)


@dataclass(frozen=True)
class Past:
    """Baseline inputs known when each wait begins."""

    gap: np.ndarray  # (W) the wait before this one
    rate: np.ndarray  # (W) events per second, decayed over 30 days
    frequency: np.ndarray  # (W) events per second since the stream began

    def __getitem__(self, rows: np.ndarray) -> "Past":
        return Past(self.gap[rows], self.rate[rows], self.frequency[rows])


def past_of(waits: Waits) -> Past:
    """Compute the baseline inputs of waits, which must be in time order."""
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
    """Return the bin index of each wait; the last bin also takes all longer waits."""
    return np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)


def probability_within(masses: np.ndarray, edges: np.ndarray, horizon: float) -> np.ndarray:
    """Return P(wait < horizon) for each forecast."""
    share = np.clip((horizon - edges[:-1]) / np.diff(edges), 0, 1)  # (bins)
    return masses @ share


def score_waits(waits: Waits, masses: np.ndarray, edges: np.ndarray) -> dict[str, float | int]:
    """Return log score (nats, density per second), CRPS in hours, PIT distance from uniform, Brier scores.

    Open waits count only for the PIT, as censored values, and for the Brier scores of horizons they have
    outlasted. A score without data is NaN.
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
    """Compute the scores that need at least one ended wait."""
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
    """Return the PIT of each wait, 0…1: the forecast CDF at the time waited, uniform if calibrated.

    Waits are whole seconds, so each ended wait is jittered within its second, identically for every
    predictor.
    """
    bins, rows = bin_of(waits.seconds, edges), np.arange(len(waits))
    below = np.cumsum(masses, axis=1)[rows, bins] - masses[rows, bins]
    spread = np.where(waits.open, 0.0, np.random.default_rng(0).random(len(waits)))
    within = np.clip((waits.seconds - edges[bins] + spread) / np.diff(edges)[bins], 0, 1)
    return below + masses[rows, bins] * within


def pit_distribution(pit: np.ndarray, still_open: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted PIT values (E) of ended waits and the estimated share (E) at or below each.

    The product-limit (Kaplan-Meier) estimate: an open wait is at risk up to the value it has reached. Without
    open waits it is the empirical distribution; dropping them would underestimate long waits.
    """
    order = np.argsort(pit, kind="stable")
    ended = ~still_open[order]
    reached = np.arange(len(pit), 0, -1)
    share = 1 - np.cumprod(np.where(ended, 1 - 1 / reached, 1.0))
    return pit[order][ended], share[ended]


def continuous_ranked_probability(seconds: np.ndarray, masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Compute ∫ (F(x) − 1{x ≥ wait})² dx for each forecast, exactly: F is linear within a bin."""
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
    """Return predicted probability and outcome (0 or 1) of an event within `horizon`, where it is known."""
    certain = ~waits.open | (waits.seconds >= horizon)
    happened = (~waits.open & (waits.seconds < horizon))[certain]
    return probability_within(masses[certain], edges, horizon), happened.astype(np.float64)


def reliability(predicted: np.ndarray, happened: np.ndarray) -> pl.DataFrame:
    """Return mean prediction, observed share and number of forecasts per probability bin of width 0.1."""
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
    """Yield name and masses (W, B) of each baseline, fitted on the `earlier` waits.

    `past` holds the inputs of the W waits to forecast, `earlier_past` those of the earlier ones.
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
    """Return the masses of lognormal waits with log mean `center` and log standard deviation `spread`."""
    return masses_between_edges(ndtr((np.log(np.maximum(edges, 1e-9)) - center[:, None]) / max(spread, 1e-3)))


def masses_between_edges(cumulative: np.ndarray) -> np.ndarray:
    """Return the masses between the edges from a CDF; the last bin takes the mass beyond the last edge."""
    masses = np.maximum(np.diff(cumulative, axis=1), LEAST_MASS)
    masses[:, -1] += np.maximum(1 - cumulative[:, -1], 0)
    return masses


def wait_scores(
    waits: Waits, edges: np.ndarray, learned: tuple[str, np.ndarray], others: Iterable[tuple[str, np.ndarray]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores, then reliability, of a learned predictor and the baselines, each given with its masses.

    `gain` is the log score above the best baseline's; `brier_skill_1d` is the relative reduction of the Brier
    score of `frequency`.
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
