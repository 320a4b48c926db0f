"""Statistics as a network takes them: standardized on what was learned from, and clipped."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

LARGEST = 6.0


@dataclass(frozen=True)
class Standard:
    """Mean and standard deviation of each statistic."""

    mean: np.ndarray  # (F) float32
    deviation: np.ndarray  # (F) float32

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
        """Standardize all statistics, in place."""
        return self.part(statistics, np.arange(len(self.mean)))

    def part(self, statistics: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Standardize those of these columns, in place."""
        statistics -= self.mean[columns]
        statistics /= self.deviation[columns]
        return np.clip(statistics, -LARGEST, LARGEST, out=statistics)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """As tensors for a file."""
        return {
            f"{prefix}mean": torch.tensor(self.mean),
            f"{prefix}deviation": torch.tensor(self.deviation),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], prefix: str) -> Self | None:
        """Those that `tensors` made; None if they are not there."""
        if f"{prefix}mean" not in tensors:
            return None
        return cls(tensors[f"{prefix}mean"].numpy(), tensors[f"{prefix}deviation"].numpy())
