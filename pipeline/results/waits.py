"""How good a forecast of waiting times is: scores of distributions, and predictors that learn nothing.

A wait is the time from one event of a node to its next, in whole seconds. A forecast is a distribution over
bins of such waits, flat within a bin: `masses` (waits, bins) over `edges` (bins + 1), in seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.stats import norm

HOUR, DAY = 3_600, 86_400
HORIZONS = {"1 h": HOUR, "1 d": DAY, "7 d": 7 * DAY}
TENTHS = 10
LEAST_MASS = 1e-12  # of a bin: no forecast is infinitely surprised


@dataclass(frozen=True)
class Waits:
    """Waiting times to be forecast, each with the moment it began.

    A wait that had not ended when the events stop is `open`: its `seconds` are how long it was seen to last.
    """

    node: np.ndarray  # (W) int64
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


def bin_of(seconds: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin that each wait falls into; the last one takes whatever is longer."""
    return np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)


def probability_within(masses: np.ndarray, edges: np.ndarray, horizon: float) -> np.ndarray:
    """P(wait < horizon) for each forecast."""
    share = np.clip((horizon - edges[:-1]) / np.diff(edges), 0, 1)  # (bins)
    return masses @ share


def score_waits(waits: Waits, masses: np.ndarray, edges: np.ndarray) -> dict[str, float | int]:
    """Log score (nats, of the very second), CRPS in hours, distance of the PIT from uniform, Brier scores.

    Open waits count for a horizon that they have outlasted and for nothing else.
    """
    ended = ~waits.open
    seconds, of_ended = waits.seconds[ended], masses[ended]
    pit = probability_integral(seconds, of_ended, edges)
    expected = (np.arange(len(pit)) + 0.5) / max(len(pit), 1)
    bins = bin_of(seconds, edges)
    mass = of_ended[np.arange(len(bins)), bins] / np.diff(edges)[bins]
    scores: dict[str, float | int] = {
        "waits": len(seconds),
        "log_score": float(np.log(np.maximum(mass, LEAST_MASS)).mean()),
        "crps_hours": float(continuous_ranked_probability(seconds, of_ended, edges).mean() / HOUR),
        "pit_distance": float(np.abs(np.sort(pit) - expected).max()),
        "pit_lowest_tenth": float((pit < 1 / TENTHS).mean()),
    }
    for name, horizon in HORIZONS.items():
        predicted, happened = outcomes(waits, masses, edges, horizon)
        scores[f"brier_{name.replace(' ', '')}"] = float(((predicted - happened) ** 2).mean())
    return scores


def probability_integral(seconds: np.ndarray, masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Where each wait falls in its forecast, 0…1: uniform if forecasts are calibrated.

    Waits are whole seconds, so each is spread over its second, by the same draws for every predictor.
    """
    bins, rows = bin_of(seconds, edges), np.arange(len(seconds))
    below = np.cumsum(masses, axis=1)[rows, bins] - masses[rows, bins]
    spread = np.random.default_rng(0).random(len(seconds))
    within = np.clip((seconds - edges[bins] + spread) / np.diff(edges)[bins], 0, 1)
    return below + masses[rows, bins] * within


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
    known: Waits, known_gap: np.ndarray, gap: np.ndarray, rate: np.ndarray, edges: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Each predictor that learns nothing and its masses (W, B), from the waits `known` when testing starts.

    `gap` (W) is the node's wait before the one to be forecast (`known_gap` for the known ones), `rate` (W)
    its events per second, decayed over 30 days.
    """
    ended = ~known.open
    counts = np.bincount(bin_of(known.seconds[ended], edges), minlength=len(edges) - 1) + 0.5
    yield "histogram", np.broadcast_to(counts / counts.sum(), (len(gap), len(counts)))
    logs = np.log(known.seconds[ended] + 0.5)
    yield "lognormal", lognormal(np.full(len(gap), logs.mean()), logs.std(), edges)
    slope, level = np.polyfit(np.log(known_gap[ended] + 0.5), logs, 1)
    spread = (logs - slope * np.log(known_gap[ended] + 0.5) - level).std()
    yield "last_gap", lognormal(slope * np.log(gap + 0.5) + level, spread, edges)
    yield "rate", differences(1 - np.exp(-rate[:, None] * edges))


def lognormal(center: np.ndarray, spread: float, edges: np.ndarray) -> np.ndarray:
    """Masses of waits whose logarithm is normal around `center`."""
    return differences(norm.cdf((np.log(np.maximum(edges, 1e-9)) - center[:, None]) / spread))


def differences(cumulative: np.ndarray) -> np.ndarray:
    """Masses between the edges; what lies beyond the last one is in the last bin."""
    masses = np.maximum(np.diff(cumulative, axis=1), LEAST_MASS)
    masses[:, -1] += np.maximum(1 - cumulative[:, -1], 0)
    return masses
