"""Standardization and clipping of statistics for a network's input."""

from dataclasses import dataclass
from typing import Self

import numpy as np

LARGEST = 6.0


@dataclass(frozen=True)
class Standard:
    """Mean and standard deviation of each statistic, and the clipping bound of the result."""

    mean: np.ndarray  # (F) float32
    deviation: np.ndarray  # (F) float32
    largest: float = LARGEST

    @classmethod
    def of(cls, statistics: np.ndarray) -> Self:
        """Compute the standard from the rows of `statistics` (…, F)."""
        rows = statistics.reshape(-1, statistics.shape[-1])
        mean = rows.mean(0, dtype=np.float64)
        deviation = rows.std(0, dtype=np.float64)
        # A constant statistic carries no information: it becomes zero.
        deviation[deviation < 1e-6] = np.inf
        return cls(mean.astype(np.float32), deviation.astype(np.float32))

    def __call__(self, statistics: np.ndarray) -> np.ndarray:
        """Standardize and clip statistics (…, F)."""
        return np.clip((statistics - self.mean) * (1 / self.deviation), -self.largest, self.largest)

    def split(self, at: int) -> tuple[Self, Self]:
        """Split into the standards of the first `at` statistics and of the others."""
        first, other = (
            type(self)(self.mean[part], self.deviation[part], self.largest)
            for part in (slice(at), slice(at, None))
        )
        return first, other

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to store in a file."""
        return {"standard.mean": self.mean, "standard.deviation": self.deviation}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Restore a standard from the output of `arrays`."""
        return cls(arrays["standard.mean"], arrays["standard.deviation"])
