"""Statistics as a network takes them: standardized on what was learned from, and clipped."""

from dataclasses import dataclass
from typing import Self

import numpy as np

LARGEST = 6.0


@dataclass(frozen=True)
class Standard:
    """Mean and standard deviation of each statistic, and the largest of what comes out."""

    mean: np.ndarray  # (F) float32
    deviation: np.ndarray  # (F) float32
    largest: float = LARGEST

    @classmethod
    def of(cls, statistics: np.ndarray) -> Self:
        """That of the rows of `statistics` (…, F)."""
        rows = statistics.reshape(-1, statistics.shape[-1])
        mean = rows.mean(0, dtype=np.float64)
        deviation = rows.std(0, dtype=np.float64)
        # A statistic that never varies says nothing: it becomes zero.
        deviation[deviation < 1e-6] = np.inf
        return cls(mean.astype(np.float32), deviation.astype(np.float32))

    def __call__(self, statistics: np.ndarray) -> np.ndarray:
        """The statistics (…, F) standardized."""
        return np.clip((statistics - self.mean) * (1 / self.deviation), -self.largest, self.largest)

    def split(self, at: int) -> tuple[Self, Self]:
        """The standards of the first `at` statistics, and of the others."""
        first, other = (
            type(self)(self.mean[part], self.deviation[part], self.largest)
            for part in (slice(at), slice(at, None))
        )
        return first, other

    def arrays(self) -> dict[str, np.ndarray]:
        """What a file keeps of it."""
        return {"standard.mean": self.mean, "standard.deviation": self.deviation}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The one that `arrays` made."""
        return cls(arrays["standard.mean"], arrays["standard.deviation"])
