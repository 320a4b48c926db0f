"""Forecasts of an event within a day, corrected by how earlier ones came out.

A forecast counts at the two `KNOTS` on the scale of probabilities that it lies between, by nearness. Where
the n forecasts remembered at a knot had the mean p and a share y of them came, the knot moves by

    (y − p) n / (n + STIFFNESS),

and what lies between two knots moves with both. A forecast enters the memory when its day is over, whatever
came, and fades. So the correction goes along with the stream while the weights stay as they were learned.
"""

from dataclasses import dataclass, field
from math import exp

import numpy as np

from pipeline.results.waits import DAY

KNOTS = np.linspace(0, 1, 11)
FADING = 120 * DAY  # seconds in which the memory fades by e
STIFFNESS = 60.0  # forecasts for which a knot stays where it is
LARGEST = 1 - 1e-6  # no forecast becomes certain


@dataclass
class Reliability:
    """What is remembered at each knot: how many forecasts, fading, and how much more came than was said."""

    forecasts: np.ndarray = field(default_factory=lambda: np.zeros(len(KNOTS)))  # (K)
    surplus: np.ndarray = field(default_factory=lambda: np.zeros(len(KNOTS)))  # (K) Σ (came − forecast)
    moment: float = 0.0  # until when both have faded, in seconds

    def corrected(self, probability: np.ndarray) -> np.ndarray:
        """Probabilities (M) as the memory believes them; the order of any two stays."""
        knots = KNOTS + self.surplus / (self.forecasts + STIFFNESS)
        knots[0] = 0.0  # what never happens is asked about by nobody, and stays rare
        return np.interp(probability, KNOTS, np.clip(np.maximum.accumulate(knots), 0, LARGEST))

    def enter(self, moment: float, probability: float, came: float) -> None:
        """A forecast whose day is over at `moment`."""
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
        """Forecasts (M), in the order of time, each corrected by those whose day was over when it was made.

        Afterwards all whose day is over at `end` are remembered.
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
