"""From three sizes to a fourth: a power law through what was measured, with its error."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

LIKELY = 0.68  # of the interval: three sizes bound nothing more tightly


@dataclass(frozen=True)
class Estimate:
    """A value and its 68 % interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> "Estimate":
        """The estimate of so much more."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class PowerLaw:
    """y = exp(level) · x^slope, by least squares in logarithms."""

    level: float
    slope: float
    residual: float  # standard deviation of log y, two degrees of freedom spent
    sizes: tuple[float, ...]

    @classmethod
    def through(cls, sizes: Sequence[float], values: Sequence[float]) -> "PowerLaw":
        """The law of `values` measured at three or more different `sizes`."""
        if len(set(sizes)) < 3 or len(sizes) != len(values) or min(*sizes, *values) <= 0:
            raise ValueError("a power law takes three different sizes or more, a value each, all above 0")
        x, y = np.log(sizes), np.log(values)
        slope, level = np.polyfit(x, y, 1)
        left = y - level - slope * x
        return cls(level, slope, float((left @ left / (len(x) - 2)) ** 0.5), tuple(sizes))

    def at(self, size: float) -> Estimate:
        """What another size has; the interval widens with the distance from those measured."""
        x = np.log(self.sizes)
        far = (np.log(size) - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
        width = stdtrit(len(x) - 2, (1 + LIKELY) / 2) * self.residual * (1 + 1 / len(x) + far) ** 0.5
        value = self.level + self.slope * np.log(size)
        return Estimate(*(float(np.exp(value + step)) for step in (0.0, -width, width)))
