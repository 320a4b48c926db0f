"""Words that every table and figure uses for the same thing."""

from collections.abc import Collection
from statistics import fmean, stdev

from pipeline.names import PAPER_METRICS
from pipeline.results.published import AUC_SLACK

NONE = "–"
NO_LEARNING = "no learning"
# When ours reaches a published figure, in words; the rule itself is in `pipeline.results.published`.
REACHED = (
    "MAR at most one published std above the published mean, HITS@10 at most one below it, "
    f"AUC at most {AUC_SLACK} points below the published one"
)
METRIC_TITLES = {
    metric.name: f"{metric.title} ({'lower' if metric.lower_is_better else 'higher'} is better)"
    for metric in PAPER_METRICS
}


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number(value: float | None, decimals: int) -> str:
    """A number, or a dash where there is none."""
    return NONE if value is None else f"{value:.{decimals}f}"


def mean_and_std(by_seed: Collection[float], decimals: int) -> str:
    """Mean ± std over seeds, the mean alone of one seed, or a dash where there is none."""
    if not by_seed:
        return NONE
    mean = f"{fmean(by_seed):.{decimals}f}"
    return mean if len(by_seed) == 1 else f"{mean} ± {stdev(by_seed):.{decimals}f}"


def mark(reached: bool | None) -> str:
    """Whether ours is at its bound or better; nothing where there is no bound."""
    return {None: "", True: "✓", False: "✗"}[reached]
