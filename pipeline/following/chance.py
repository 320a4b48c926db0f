"""The probability that a node acts on another within the next day, kept calibrated by every day that passes.

A model says whom a node acts on if it acts; how likely it acts within a day, and how much of the model's
opinion to believe, is learned from how earlier days came out. The hazard of a pair is log-linear,

    P = 1 − exp(−exp(w · x)),    x = 1, log share, log partners, log habit, weekend,

with the model's share of the partner among all candidates, how many partners the node has on a usual day, on
which share of days it acted on this one, and whether the day is a weekend. After each day w moves to the
maximum of the day's likelihood and of a quadratic memory of the days before, which fades.
"""

from dataclasses import dataclass
from datetime import date
from math import exp
from typing import Self

import numpy as np

FADING = 30.0  # days in which habits fade by e
MEMORY = 0.97  # of what earlier days said about w, left after a day
STEPS = 8  # of Newton's method a day: few are needed, w hardly moves
HALVINGS = 12
BEGIN = np.array([0.0, 1.0, 1.0, 0.0, 0.0])  # the hazard is partners · share
STIFFNESS = 10.0  # of that beginning
LEAST_SHARE, LEAST_PARTNERS, LEAST_HABIT = 1e-9, 1e-3, 1e-4
LARGEST = 3.0  # of w · x: 1 − exp(−exp(3)) is certain


@dataclass
class Chance:
    """What is remembered of N nodes: their habits, and how far they and the model can be believed."""

    weights: np.ndarray  # (5)
    precision: np.ndarray  # (5, 5)
    habit: np.ndarray  # (N, N) float32: fading number of days on which the row acted on the column
    days: float = 0.0  # fading number of days

    @classmethod
    def new(cls, nodes: int) -> Self:
        """Before the first day."""
        return cls(BEGIN.copy(), STIFFNESS * np.eye(len(BEGIN)), np.zeros((nodes, nodes), np.float32))

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The one that `arrays` made."""
        return cls(arrays["weights"], arrays["precision"], arrays["habit"], arrays["days"].item())

    def arrays(self) -> dict[str, np.ndarray]:
        """What a file keeps of it."""
        return {
            "weights": self.weights,
            "precision": self.precision,
            "habit": self.habit,
            "days": np.array(self.days),
        }

    def evidence(self, log_intensity: np.ndarray, day: date) -> np.ndarray:
        """x of every ordered pair for the events of `day`: (N, N, 5); on the diagonal it means nothing."""
        logs = log_intensity.astype(np.float64)
        logs = logs - logs.max(1, keepdims=True)
        share = np.exp(logs) / np.exp(logs).sum(1, keepdims=True)
        habit = self.habit.astype(np.float64) / max(self.days, 1.0)
        partners = habit.sum(1, keepdims=True)
        x = np.empty((*habit.shape, len(BEGIN)))
        x[..., 0] = 1.0
        x[..., 1] = np.log(share + LEAST_SHARE)
        x[..., 2] = np.log(partners + LEAST_PARTNERS)
        x[..., 3] = np.log(habit + LEAST_HABIT)
        x[..., 4] = day.weekday() >= 5
        return x

    def hazard(self, log_intensity: np.ndarray, day: date) -> np.ndarray:
        """Expected events of every ordered pair on `day`, zero on the diagonal: (N, N)."""
        hazard = np.exp(np.minimum(self.evidence(log_intensity, day) @ self.weights, LARGEST))
        np.fill_diagonal(hazard, 0.0)
        return hazard

    def observe(self, log_intensity: np.ndarray, day: date, came: np.ndarray) -> None:
        """Learn from a day for which `log_intensity` (N, N) was the forecast and `came` (N, N) came true."""
        off_diagonal = ~np.eye(len(came), dtype=bool)
        x, y = self.evidence(log_intensity, day)[off_diagonal], came[off_diagonal]
        before, memory = self.weights, MEMORY * self.precision

        def likelihood(weights: np.ndarray) -> float:
            hazard = np.exp(np.minimum(x @ weights, LARGEST))
            moved = weights - before
            return float(np.where(y, np.log(-np.expm1(-hazard)), -hazard).sum() - moved @ memory @ moved / 2)

        weights, reached = before, likelihood(before)
        information = np.zeros_like(memory)
        for _ in range(STEPS):
            hazard = np.exp(np.minimum(x @ weights, LARGEST))
            chance = -np.expm1(-hazard)
            slope = hazard * np.exp(-hazard)  # of the chance, along w · x
            spread = np.maximum(chance * (1 - chance), 1e-12)
            information = x.T @ (x * (slope * slope / spread)[:, None])
            gradient = x.T @ ((y - chance) * slope / spread) - memory @ (weights - before)
            step = np.linalg.solve(memory + information, gradient)
            for _ in range(HALVINGS):  # a step that leads down leads too far
                if likelihood(weights + step) >= reached:
                    weights, reached = weights + step, likelihood(weights + step)
                    break
                step = step / 2
        self.weights, self.precision = weights, memory + information
        self.remember(came)

    def remember(self, came: np.ndarray) -> None:
        """A day enters the habits."""
        left = exp(-1 / FADING)
        self.habit = self.habit * np.float32(left) + came.astype(np.float32)
        self.days = self.days * left + 1
