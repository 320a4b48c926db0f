"""Names that several packages use: kinds of events, splits, snapshots, horizons, baselines, metrics."""

from dataclasses import dataclass

ASSOCIATION_KIND, COMMUNICATION_KIND = KINDS = ("association", "communication")  # numbered in model.stream
TRAIN, VALIDATION, TEST = SPLITS = ("train", "validation", "test")
INITIAL, FINAL = SNAPSHOTS = ("initial", "final")
SEEN, NEVER_SEEN = PAIRS = ("seen before", "never seen")
PLANTED = "planted"  # the relation of a ground-truth graph, never an input to training
HORIZONS = {"1 h": 3_600, "1 d": 86_400, "7 d": 7 * 86_400}  # forecast horizons in seconds
HAZARD = "hazard"  # the learned model among the predictors of waiting times
# Baselines without learning that other packages name; `pipeline.results.baselines` has all of them.
RANDOM, POPULARITY, ASSOCIATES = "random", "popularity", "associates"
RECENCY, ONLINE_RECENCY = "recency", "online_recency"
# Baselines for a learned graph: counts of a pair's training events, all or communications only.
FREQUENCY, COMMUNICATION_FREQUENCY = FREQUENCIES = ("frequency", "communication_frequency")


@dataclass(frozen=True)
class Metric:
    """A ranking metric: its column, printed name, description and number of printed decimals."""

    name: str
    title: str
    description: str
    lower_is_better: bool = False
    decimals: int = 2

    @property
    def heading(self) -> str:
        """The title with an arrow towards better values."""
        return f"{self.title} {'↓' if self.lower_is_better else '↑'}"

    def better(self, one: float, other: float) -> bool:
        """Return True if `one` is better than `other`."""
        return one < other if self.lower_is_better else one > other


def hits_metric(k: int) -> Metric:
    """Return the metric HITS@k: the share of true partners among the first `k`."""
    return Metric(
        f"hits_at_{k}",
        f"HITS@{k}",
        f"share of events whose true partner is among the first {k}; higher is better",
    )


MAR = Metric(
    "mar",
    "MAR",
    "mean rank of the true partner, from 0; lower is better",
    lower_is_better=True,
    decimals=1,
)
MRR = Metric("mrr", "MRR", "mean of 1 / (rank + 1); higher is better")
HITS_AT = {k: hits_metric(k) for k in (1, 3, 10)}
# In column order.
METRICS = (MAR, HITS_AT[10], MRR, HITS_AT[1], HITS_AT[3])
# The metrics of the paper's Table 3.
PAPER_METRICS = (MAR, HITS_AT[10])
# Metrics shown in summaries: the track record of a followed archive and single trainings.
BRIEF_METRICS = (MAR, HITS_AT[10], MRR)


def brier_name(horizon: str) -> str:
    """Return the column of a horizon's Brier score."""
    return f"brier_{horizon.replace(' ', '')}"


def baseline_label(baseline: str, relation: str | None = None) -> str:
    """Return the printed name of a baseline; the view `leaderboard` does the same in SQL."""
    words = baseline.replace("_", " ")
    return f"{words}, {relation}" if relation else words
