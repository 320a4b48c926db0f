"""What per-seed differences prove: a 95 % t interval each, and a verdict over all rows of a claim.

A claim says that something holds in every row. It holds when each row's interval lies on its side of zero: as
all must, no correction for their number is needed. It does not hold when some row is proven to be on the
other side, by Holm's correction over the rows, as one is enough. Otherwise it is undecided.
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
    """A row of a claim: differences by seed, signed such that above zero speaks for the claim."""

    label: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float(np.mean(self.values))

    @cached_property
    def test(self) -> tuple[float, tuple[float, float]] | None:
        """Two-sided p of the mean against zero and its 95 % interval; None with a single seed."""
        if len(self.values) < 2:
            return None
        if len(set(self.values)) == 1:  # without spread there is no t
            return (1.0 if self.mean == 0 else 0.0), (self.mean, self.mean)
        from scipy.stats import ttest_1samp  # half a second, for the one command that decides claims

        against_zero = ttest_1samp(self.values, 0)
        low, high = against_zero.confidence_interval(1 - LEVEL)
        return float(against_zero.pvalue), (float(low), float(high))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None with a single seed."""
        return None if self.test is None else self.test[1]

    @property
    def p(self) -> float:
        """Two-sided probability of such a mean if there were no difference."""
        return 1.0 if self.test is None else self.test[0]

    @property
    def speaks_for(self) -> bool:
        """Whether the interval lies above zero."""
        return self.interval is not None and self.interval[0] > 0


def paired(label: str, better: BySeed, worse: BySeed, *, lower: bool = True) -> Difference | None:
    """How much `better` is better than `worse`, seed by seed; `lower` values are the better ones, or higher.

    None when no seed has both.
    """
    seeds = sorted(better.keys() & worse.keys())
    sign = 1 if lower else -1
    values = tuple(sign * (worse[seed] - better[seed]) for seed in seeds)
    return Difference(label, values) if values else None


def rows_against(rows: Sequence[Difference]) -> list[Difference]:
    """The rows proven to speak against the claim, by Holm's step-down over all rows."""
    proven = []
    for tested, row in enumerate(sorted(rows, key=lambda row: row.p)):
        if row.p > LEVEL / (len(rows) - tested):
            break
        if row.mean < 0:
            proven.append(row)
    return proven


def claim_verdict(rows: Sequence[Difference]) -> Verdict:
    """What the rows of a claim say together."""
    if not rows:
        return "not measured"
    if all(row.speaks_for for row in rows):
        return "holds"
    return "does not hold" if rows_against(rows) else "undecided"
