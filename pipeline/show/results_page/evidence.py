"""Paired differences per seed: a 95 % t interval each, and a verdict over all rows of a claim.

A claim states that something is true in every row. It *holds* if each row's interval is above zero; as all
must be, no correction for multiple tests is needed. It *does not hold* if some row is significantly below
zero after Holm's correction over the rows, as one suffices. Otherwise it is *undecided*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from pipeline.show.results_page.measured import BySeed

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """A row of a claim: differences by seed, positive if they support the claim."""

    label: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float(np.mean(self.values))

    @cached_property
    def test(self) -> tuple[float, tuple[float, float]] | None:
        """Two-sided p value of the mean against zero and its 95 % interval; None with a single seed."""
        if len(self.values) < 2:
            return None
        if len(set(self.values)) == 1:  # t is undefined without variance
            return (1.0 if self.mean == 0 else 0.0), (self.mean, self.mean)
        from scipy.stats import ttest_1samp  # half a second, only needed by the command that decides claims

        against_zero = ttest_1samp(self.values, 0)
        low, high = against_zero.confidence_interval(1 - LEVEL)
        return float(against_zero.pvalue), (float(low), float(high))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None with a single seed."""
        return None if self.test is None else self.test[1]

    @property
    def p(self) -> float:
        """Two-sided p value of the mean; 1 with a single seed."""
        return 1.0 if self.test is None else self.test[0]

    @property
    def speaks_for(self) -> bool:
        """Return whether the interval lies above zero."""
        return self.interval is not None and self.interval[0] > 0


def paired(label: str, better: BySeed, worse: BySeed, *, lower: bool = True) -> Difference | None:
    """Return the advantage of `better` over `worse`, paired by seed; None without a common seed.

    `lower` says whether lower values are better.
    """
    seeds = sorted(better.keys() & worse.keys())
    sign = 1 if lower else -1
    values = tuple(sign * (worse[seed] - better[seed]) for seed in seeds)
    return Difference(label, values) if values else None


def rows_against(rows: Sequence[Difference]) -> list[Difference]:
    """Return the rows significantly against the claim, by Holm's step-down procedure over all rows."""
    proven = []
    for tested, row in enumerate(sorted(rows, key=lambda row: row.p)):
        if row.p > LEVEL / (len(rows) - tested):
            break
        if row.mean < 0:
            proven.append(row)
    return proven


def claim_verdict(rows: Sequence[Difference]) -> Verdict:
    """Return the verdict over all rows of a claim."""
    if not rows:
        return "not measured"
    if all(row.speaks_for for row in rows):
        return "holds"
    return "does not hold" if rows_against(rows) else "undecided"
