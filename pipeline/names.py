"""Names that more than one room uses: kinds of events, splits, snapshots, horizons, baselines, metrics."""

from dataclasses import dataclass

ASSOCIATION_KIND, COMMUNICATION_KIND = KINDS = ("association", "communication")  # as numbers: model.stream
TRAIN, VALIDATION, TEST = SPLITS = ("train", "validation", "test")
INITIAL, FINAL = SNAPSHOTS = ("initial", "final")
SEEN, NEVER_SEEN = PAIRS = ("seen before", "never seen")
PLANTED = "planted"  # the relation of a graph that is known from outside, never an input to training
HORIZONS = {"1 h": 3_600, "1 d": 86_400, "7 d": 7 * 86_400}  # seconds within which an event is forecast
HAZARD = "hazard"  # what is learned of waiting times, among those that forecast them
# What learns nothing, as far as other rooms speak of it; `pipeline.results.baselines` has them all.
RANDOM, POPULARITY, ASSOCIATES = "random", "popularity", "associates"
RECENCY, ONLINE_RECENCY = "recency", "online_recency"
# What counts a pair's training events instead of learning a graph: all of them, and communications alone.
FREQUENCY, COMMUNICATION_FREQUENCY = FREQUENCIES = ("frequency", "communication_frequency")


@dataclass(frozen=True)
class Metric:
    """How well partners were ranked: its column, its name in print, and how many decimals are printed."""

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
        """Whether `one` is better than `other`."""
        return one < other if self.lower_is_better else one > other


def hits_metric(k: int) -> Metric:
    """The metric HITS@k: the share of true partners among the first `k`."""
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
# In the order of the columns.
METRICS = (MAR, HITS_AT[10], MRR, HITS_AT[1], HITS_AT[3])
# Those of the paper's Table 3.
PAPER_METRICS = (MAR, HITS_AT[10])
# Those that say it briefly: in a followed archive's track record, and where one training is looked at.
BRIEF_METRICS = (MAR, HITS_AT[10], MRR)


def brier_name(horizon: str) -> str:
    """The column of the Brier score of a horizon."""
    return f"brier_{horizon.replace(' ', '')}"


def baseline_label(baseline: str, relation: str | None = None) -> str:
    """The name of a predictor that learns nothing; the view `leaderboard` says the same in SQL."""
    words = baseline.replace("_", " ")
    return f"{words}, {relation}" if relation else words
