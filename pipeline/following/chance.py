"""The probability that a node acts on another within the next day, calibrated on every day that passes.

A model predicts whom a node acts on if it acts. How likely it acts within a day, and how much weight the
model's share deserves, is learned from the outcomes of earlier days. The hazard of a pair is log-linear,

P = 1 − exp(−exp(w · x)),    x = 1, log share, log partners, log habit, weekend,

with the model's share of the partner among all candidates, the node's usual number of partners per day, the
share of days on which it acted on this one, and whether the day is a weekend. After each day w moves to the
maximum of the day's likelihood and a quadratic prior from the days before, which decays. In a large network
that likelihood uses a weighted subset of rows, a different one each day.
"""

from dataclasses import dataclass
from datetime import date
from math import exp
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.following.outlook import Block, Outlook
from pipeline.results.pairs import Pairs, pair_keys

FADING = 30.0  # days in which habits decay by a factor e
MEMORY = 0.97  # factor per day on the precision of w from earlier days
STEPS = 8  # Newton steps per day: few suffice, because w hardly moves
HALVINGS = 12
BEGIN = np.array([0.0, 1.0, 1.0, 0.0, 0.0])  # the hazard is partners · share
STIFFNESS = 10.0  # precision of this prior
LEAST_SHARE, LEAST_PARTNERS, LEAST_HABIT = 1e-9, 1e-3, 1e-4
LARGEST = 3.0  # cap of w · x: 1 − exp(−exp(3)) is practically 1
MOST_ROWS = 4096  # rows that a day is learned from: enough for five weights


@dataclass
class Chance:
    """Calibration state of N nodes: their habits, and the weights of habits and of the model."""

    weights: np.ndarray  # (5)
    precision: np.ndarray  # (5, 5)
    pairs: Pairs  # ordered pairs with any communication
    habit: np.ndarray  # (P) float32: decayed number of days with one
    days: float = 0.0  # decayed number of days

    @classmethod
    def new(cls, nodes: int) -> Self:
        """Return the state before the first day."""
        nobody = Pairs(nodes, np.empty(0, np.int64))
        return cls(BEGIN.copy(), STIFFNESS * np.eye(len(BEGIN)), nobody, np.empty(0, np.float32))

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Restore the state from the output of `arrays`."""
        pairs = Pairs(arrays["nodes"].item(), arrays["pairs"])
        return cls(arrays["weights"], arrays["precision"], pairs, arrays["habit"], arrays["days"].item())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to store in a file."""
        return {
            "weights": self.weights,
            "precision": self.precision,
            "nodes": np.array(self.pairs.nodes),
            "pairs": self.pairs.keys,
            "habit": self.habit,
            "days": np.array(self.days),
        }

    def habits(self, block: Block) -> np.ndarray:
        """Return the share of days on which each of a block's nodes acted on those in its row: (B, W)."""
        return block.values(self.pairs, self.habit).astype(np.float64) / max(self.days, 1.0)

    def partners(self, outlook: Outlook) -> np.ndarray:
        """Return each node's usual number of partners per day: (N). Rows must hold all pairs with habits."""
        return np.concatenate([self.habits(block).sum(1) for block in outlook.blocks()])

    def evidence(self, block: Block, day: date) -> np.ndarray:
        """Return x of a block's pairs for the events of `day`: (B, W, 5); meaningless on the diagonal."""
        habit = self.habits(block)
        return chance_evidence(block.share, habit.sum(1, keepdims=True), habit, day)

    def hazard(self, block: Block, day: date) -> np.ndarray:
        """Return the expected events on `day` of a block's pairs: (B, W), zero for self-pairs and padding."""
        return np.where(block.weight > 0, self.hazard_of(self.evidence(block, day)), 0.0)

    def hazard_of(self, x: np.ndarray) -> np.ndarray:
        """Return the expected events of pairs with the evidence x (…, 5)."""
        return np.exp(np.minimum(x @ self.weights, LARGEST))

    def hazard_with_everyone(
        self,
        outlook: Outlook,
        usual: np.ndarray,
        log_intensity: np.ndarray,
        node: int,
        day: date,
        *,
        acts: bool,
    ) -> np.ndarray:
        """Return the expected events on `day` of `node` acting on everyone, or everyone acting on it: (N).

        `usual` are the `partners` of the outlook, `log_intensity` (N) is of exactly these pairs.
        """
        one, everyone = np.full(outlook.nodes, node), np.arange(outlook.nodes)
        actor, target = (one, everyone) if acts else (everyone, one)
        share = np.exp(log_intensity - outlook.largest[actor]) / outlook.total[actor]
        keys = pair_keys(actor, target, outlook.nodes)
        places = np.searchsorted(self.pairs.keys, keys)
        held = np.append(self.pairs.keys, -1)[places] == keys
        habit = np.where(held, np.append(self.habit, 0.0)[places], 0.0)
        return self.hazard_of(chance_evidence(share, usual[actor], habit / max(self.days, 1.0), day))

    @threadpool_limits.wrap(limits=1, user_api="blas")  # the bits of sums depend on the number of threads
    def observe(self, outlook: Outlook, day: date, came: Pairs) -> None:
        """Learn from a day for which `outlook` was the forecast, and on which the pairs `came` occurred.

        Each of `came` must have weight 1 in its row.
        """
        every = -(-outlook.nodes // MOST_ROWS)
        parts = []
        for block in outlook.blocks(every, day.toordinal() % every):
            stands = block.weight > 0
            outcome = block.values(came, np.ones(len(came.keys), bool))
            parts.append((self.evidence(block, day)[stands], outcome[stands], every * block.weight[stands]))
        x, y, weight = (np.concatenate(part) for part in zip(*parts, strict=True))  # (M, 5), (M), (M)
        before, memory = self.weights, MEMORY * self.precision

        def likelihood(weights: np.ndarray) -> float:
            hazard = np.exp(np.minimum(x @ weights, LARGEST))
            moved = weights - before
            logs = np.where(y, np.log(-np.expm1(-hazard)), -hazard)
            return float((weight * logs).sum() - moved @ memory @ moved / 2)

        weights, reached = before, likelihood(before)
        information = np.zeros_like(memory)
        for _ in range(STEPS):
            hazard = np.exp(np.minimum(x @ weights, LARGEST))
            chance = -np.expm1(-hazard)
            slope = hazard * np.exp(-hazard)  # derivative of the chance by w · x
            spread = np.maximum(chance * (1 - chance), 1e-12)
            information = x.T @ (x * (weight * (slope * slope / spread))[:, None])
            gradient = x.T @ (weight * ((y - chance) * slope / spread)) - memory @ (weights - before)
            step = np.linalg.solve(memory + information, gradient)
            for _ in range(HALVINGS):  # halve a step that lowers the likelihood
                if likelihood(weights + step) >= reached:
                    weights, reached = weights + step, likelihood(weights + step)
                    break
                step = step / 2
        self.weights, self.precision = weights, memory + information
        self.remember(came)

    def remember(self, came: Pairs) -> None:
        """Add a day to the habits."""
        left = exp(-1 / FADING)
        pairs = Pairs(came.nodes, np.union1d(self.pairs.keys, came.keys))
        habit = np.zeros(len(pairs.keys), np.float32)
        habit[np.searchsorted(pairs.keys, self.pairs.keys)] = self.habit * np.float32(left)
        habit[np.searchsorted(pairs.keys, came.keys)] += np.float32(1)
        self.pairs, self.habit = pairs, habit
        self.days = self.days * left + 1


def chance_evidence(share: np.ndarray, partners: np.ndarray, habit: np.ndarray, day: date) -> np.ndarray:
    """Return x (…, 5) from a pair's share and habit, and the node's usual number of partners."""
    x = np.empty((*np.broadcast_shapes(share.shape, habit.shape), len(BEGIN)))
    x[..., 0] = 1.0
    x[..., 1] = np.log(share + LEAST_SHARE)
    x[..., 2] = np.log(partners + LEAST_PARTNERS)
    x[..., 3] = np.log(habit + LEAST_HABIT)
    x[..., 4] = day.weekday() >= 5
    return x
