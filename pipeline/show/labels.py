"""Labels and number formats shared by tables and figures."""

from collections.abc import Collection
from statistics import fmean, stdev

from pipeline.names import PAPER_METRICS
from pipeline.results.published import AUC_SLACK

NONE = "–"
NO_LEARNING = "no learning"
# The rule of `pipeline.results.published` in words.
REACHED = (
    "MAR at most one published std above the published mean, HITS@10 at most one below it, "
    f"AUC at most {AUC_SLACK} points below the published one"
)
METRIC_TITLES = {
    metric.name: f"{metric.title} ({'lower' if metric.lower_is_better else 'higher'} is better)"
    for metric in PAPER_METRICS
}


def count(number: int, noun: str) -> str:
    """Format a number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number(value: float | None, decimals: int) -> str:
    """Format a number, or a dash for None."""
    return NONE if value is None else f"{value:.{decimals}f}"


def mean_and_std(by_seed: Collection[float], decimals: int) -> str:
    """Format mean ± std over seeds, the mean alone for one seed, or a dash without values."""
    if not by_seed:
        return NONE
    mean = f"{fmean(by_seed):.{decimals}f}"
    return mean if len(by_seed) == 1 else f"{mean} ± {stdev(by_seed):.{decimals}f}"


def mark(reached: bool | None) -> str:
    """Return a tick if the bound is reached, a cross if not, nothing without a bound."""
    return {None: "", True: "✓", False: "✗"}[reached]
