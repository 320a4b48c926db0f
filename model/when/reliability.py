"""Online calibration of P(an event within a day) by the outcomes of earlier forecasts.

A forecast counts at the two nearest `KNOTS` of the probability scale, weighted linearly. If the n forecasts
at a knot had the mean p and a share y of them came true, the knot moves by

    (y − p) n / (n + STIFFNESS),

with linear interpolation between knots. A forecast is added when its day is over, and decays from then on.
The calibration thus follows the stream while the network's weights stay frozen.
"""

from dataclasses import dataclass, field
from math import exp

import numpy as np

from pipeline.results.waits import DAY

KNOTS = np.linspace(0, 1, 11)
FADING = 120 * DAY  # seconds, time constant of the decay
STIFFNESS = 60.0  # prior weight of an unmoved knot, in forecasts
LARGEST = 1 - 1e-6  # no forecast becomes certain


@dataclass
class Reliability:
    """Calibration state of each knot: decayed count of forecasts and sum of outcome minus forecast."""

    forecasts: np.ndarray = field(default_factory=lambda: np.zeros(len(KNOTS)))  # (K)
    surplus: np.ndarray = field(default_factory=lambda: np.zeros(len(KNOTS)))  # (K) Σ (came − forecast)
    moment: float = 0.0  # of the last decay, in seconds

    def corrected(self, probability: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities (M); the mapping is monotone."""
        knots = KNOTS + self.surplus / (self.forecasts + STIFFNESS)
        knots[0] = 0.0  # the outcomes say little about rare events: 0 stays 0
        return np.interp(probability, KNOTS, np.clip(np.maximum.accumulate(knots), 0, LARGEST))

    def enter(self, moment: float, probability: float, came: float) -> None:
        """Add a forecast whose day is over at `moment` and its outcome `came`, 0 or 1."""
        left = exp((self.moment - moment) / FADING)
        self.forecasts *= left
        self.surplus *= left
        self.moment = moment
        place = min(int(probability * (len(KNOTS) - 1)), len(KNOTS) - 2)
        above = probability * (len(KNOTS) - 1) - place
        for knot, share in ((place, 1 - above), (place + 1, above)):
            self.forecasts[knot] += share
            self.surplus[knot] += share * (came - probability)

    def follow(self, began: np.ndarray, probability: np.ndarray, came: np.ndarray, end: float) -> np.ndarray:
        """Return calibrated forecasts (M), in time order, each by those whose day was over when it was made.

        Afterwards the state includes all forecasts whose day is over at `end`.
        """
        corrected, entered = np.empty(len(began)), 0
        over = np.searchsorted(began + DAY, np.append(began, end), side="right")
        for row, due in enumerate(over):
            for earlier in range(entered, due):
                self.enter(began[earlier] + DAY, float(probability[earlier]), float(came[earlier]))
            entered = max(entered, int(due))
            if row < len(began):
                corrected[row] = self.corrected(probability[row])
        return corrected
