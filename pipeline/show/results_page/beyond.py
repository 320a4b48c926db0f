"""Beyond the paper: the relational-event model beside the best that learns nothing, what carries it, when."""

from collections.abc import Callable, Sequence
from statistics import fmean, stdev

import polars as pl

from pipeline.names import COMMUNICATION_FREQUENCY, FREQUENCY, NEVER_SEEN
from pipeline.rem_variants import GROUPS, HISTORY, REM, rem_variants
from pipeline.show.labels import NONE, baseline_label, number
from pipeline.show.results_page import calibration
from pipeline.show.results_page.evidence import Difference, paired
from pipeline.show.results_page.markdown import table
from pipeline.show.results_page.measured import BySeed, Measured, by_seed, of_model
from pipeline.show.tables import Row

BLIND = f"{REM}_role_blind"
METRICS = {"mar": 2, "hits_at_10": 3, "mrr": 3}  # with their decimals
FINE_METRICS = dict.fromkeys(METRICS, 4)  # where the truth is nearly always first
HEADINGS = ("MAR ↓", "HITS@10 ↑", "MRR ↑", "never seen: MAR ↓", "never seen: HITS@10 ↑")
COUNTING = {FREQUENCY: "all events counted", COMMUNICATION_FREQUENCY: "communications counted"}

INTRODUCTION = (
    "[REM](history.md) learns from statistics of the past. It is trained on the training period, every "
    "choice is made on validation, and test communications are ranked once, weights frozen, in both "
    "directions. Mean ± std over seeds; differences are in MAR, seed by seed, with their 95 % interval. "
    "*Never seen*: pairs without an event before. Models of other libraries on the same events are "
    "[beside it](peers.md).\n"
)


def section(datasets: list[Measured]) -> str:
    """The whole part; nothing if no relational-event model is trained."""
    trained = [data for data in datasets if not of_rem(data.scores).is_empty()]
    if not trained:
        return ""
    parts = ["## Beyond the paper\n", INTRODUCTION]
    for data in trained:
        parts += [
            f"### {data.title}\n",
            predictors(data),
            agreement(data),
            ablations(data),
            calibration.section(data),
        ]
    return "\n".join(part for part in parts if part)


def of_rem(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of relational-event models."""
    return rows.filter(pl.col("interaction") == HISTORY)


def decimals_of(data: Measured) -> dict[str, int]:
    """How many decimals each metric needs to tell the predictors of a dataset apart."""
    return FINE_METRICS if any(row["mar"] < 1 for row in data.baselines) else METRICS


def predictors(data: Measured) -> str:
    """The model with and without roles, each above the best predictor without learning that knows as much."""
    rows = []
    for variant, by_role in ((REM, True), (BLIND, False)):
        best = best_baseline(data, by_role=by_role)
        scores = data.score(variant, HISTORY)
        knows = "yes" if by_role else "no"
        if scores and best is not None:
            gain = Difference("", tuple(best["mar"] - mar for mar in scores.values()))
            rows.append(
                [
                    data.model(variant),
                    str(len(scores)),
                    knows,
                    *model_cells(data, variant),
                    change(gain, decimals_of(data)["mar"]),
                ]
            )
        if best is not None:
            label = baseline_label(best["baseline"], best["relation"])
            rows.append([label, NONE, knows, *baseline_cells(best, decimals_of(data)), ""])
    headings = ["Predictor", "Seeds", "knows who acted", *HEADINGS, "better by"]
    return table(headings, rows, left=3)


def best_baseline(data: Measured, *, by_role: bool) -> Row | None:
    """The predictor without learning with the lowest MAR among those that know no more."""
    allowed = [row for row in data.baselines if by_role or not row["by_role"]]
    return min(allowed, key=lambda row: row["mar"], default=None)


def model_cells(data: Measured, variant: str) -> list[str]:
    """The metrics of a trained variant, of all test communications and of pairs never seen."""
    never = of_model(data.groups, variant, HISTORY).filter(pl.col("value") == NEVER_SEEN)
    decimals = decimals_of(data)
    cells = [mean_and_std(data.score(variant, HISTORY, metric), decimals[metric]) for metric in METRICS]
    return [*cells, mean_and_std(by_seed(never, "mar"), 1), mean_and_std(by_seed(never, "hits_at_10"), 3)]


def baseline_cells(row: Row, decimals: dict[str, int]) -> list[str]:
    """The same of a predictor that learns nothing."""
    cells = [number(row[metric], decimals[metric]) for metric in METRICS]
    return [*cells, number(row["never_seen_mar"], 1), number(row["never_seen_hits_at_10"], 3)]


def mean_and_std(values: BySeed, decimals: int) -> str:
    """Mean ± std over seeds."""
    if not values:
        return NONE
    mean = f"{fmean(values.values()):.{decimals}f}"
    return mean if len(values) == 1 else f"{mean} ± {stdev(values.values()):.{decimals}f}"


def change(difference: Difference | None, decimals: int) -> str:
    """A mean difference with its 95 % interval."""
    if difference is None:
        return NONE
    mean = f"{difference.mean:+.{decimals}f}"
    if difference.interval is None:
        return mean
    low, high = difference.interval
    return f"{mean} [{low:+.{decimals}f}, {high:+.{decimals}f}]"


def agreement(data: Measured) -> str:
    """AUC (%) of the latent graph at the end of training with the final known ones, beside counting."""
    at_end = data.auc.filter(pl.col("snapshot") == "final", pl.col("edge_type").is_null())
    columns: list[tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = [
        ("REM, excitation", lambda rows: of_model(rows, REM, HISTORY).filter(pl.col("attention") == "final")),
        *(
            (title, lambda rows, counted=counted: rows.filter(pl.col("variant") == counted))
            for counted, title in COUNTING.items()
        ),
    ]
    rows = []
    for relation in data.relations:
        of_relation = at_end.filter(pl.col("relation") == relation).with_columns(auc=100 * pl.col("auc"))
        cells = [auc_cell(chosen(of_relation)) for _, chosen in columns]
        if cells[0] != NONE:
            rows.append([relation, *cells])
    if not rows:
        return ""
    return "AUC (%) with the known graphs at the end of training:\n\n" + table(
        ["Relation", *(title for title, _ in columns)], rows
    )


def auc_cell(rows: pl.DataFrame) -> str:
    """The AUC of one row, or mean ± std over the seeds of several."""
    return mean_and_std(dict(enumerate(rows["auc"].to_list())), 1)


def ablations(data: Measured) -> str:
    """Every other variant, with how much worse its MAR is than the whole model's, seed by seed."""
    whole = data.score(REM, HISTORY)
    rows = [
        [
            data.model(variant),
            str(len(scores)),
            *model_cells(data, variant),
            change(paired("", whole, scores), decimals_of(data)["mar"]),
        ]
        for variant in ablation_names()
        if (scores := data.score(variant, HISTORY))
    ]
    if not rows:
        return ""
    return "What carries it:\n\n" + table(["Variant", "Seeds", *HEADINGS, "MAR above REM's"], rows)


def ablation_names() -> Sequence[str]:
    """Every variant but the model itself, those without a group of statistics last."""
    names = [variant.name for variant in rem_variants() if variant.name != REM]
    groups = {f"{REM}_without_{group}" for group in GROUPS}
    return sorted(names, key=lambda name: name in groups)
