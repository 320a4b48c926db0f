"""Models beyond the paper: the relational-event model (REM), baselines, ablations and calibration."""

from collections.abc import Sequence
from statistics import fmean

import polars as pl

from pipeline.names import (
    BRIEF_METRICS,
    COMMUNICATION_FREQUENCY,
    FINAL,
    FREQUENCY,
    HITS_AT,
    MAR,
    MRR,
    NEVER_SEEN,
    baseline_label,
)
from pipeline.rem_variants import REM, REM_ROLE_BLIND, rem_variants
from pipeline.show.labels import NONE, count, mean_and_std, number
from pipeline.show.results_page.calibration import calibration_in_short, calibration_section
from pipeline.show.results_page.evidence import Difference, paired
from pipeline.show.results_page.markdown import markdown_table
from pipeline.show.results_page.measured import Measured, by_seed, of_model
from pipeline.show.tables import Row
from pipeline.variant_names import HISTORY

DECIMALS = {MAR.name: 2, HITS_AT[10].name: 3, MRR.name: 3}
FINE_DECIMALS = dict.fromkeys(DECIMALS, 4)  # used when the true partner is nearly always ranked first
NEVER_SEEN_DECIMALS = {MAR.name: 1, HITS_AT[10].name: 3}
HEADINGS = (
    *(metric.heading for metric in BRIEF_METRICS),
    *(f"never seen: {metric.heading}" for metric in (MAR, HITS_AT[10])),
)
COUNTING = {FREQUENCY: "all events counted", COMMUNICATION_FREQUENCY: "communications counted"}

HEADING = "## Beyond the paper\n"
INTRODUCTION = (
    "[REM](history.md) learns from statistics of the past. It is trained on the training period, every "
    "choice is made on validation, and test communications are ranked once, weights frozen, in both "
    "directions. Mean ± std over seeds; differences are in MAR, seed by seed, with their 95 % interval. "
    "*Never seen*: pairs without an event before. Models of other libraries on the same events are "
    "[beside it](peers.md)."
)


def datasets_with_rem(datasets: list[Measured]) -> list[Measured]:
    """Return the datasets with a trained relational-event model."""
    return [data for data in datasets if not of_rem(data.scores).is_empty()]


def beyond_section(datasets: list[Measured], evidence: str) -> str:
    """Return the results page's second part: one table of all datasets, then a summary of the evidence."""
    findings = [
        f"- {data.title}: {' '.join(sentences)}"
        for data in datasets
        if (
            sentences := [
                one
                for one in (
                    rem_agreement_in_short(data),
                    ablations_in_short(data),
                    calibration_in_short(data),
                )
                if one
            ]
        )
    ]
    link = (
        f"Every known graph, variant and tenth is on the page of [evidence]({evidence}#beyond-the-paper).\n"
    )
    parts = [HEADING, f"{INTRODUCTION} {link}", predictor_table(datasets), *findings]
    return "\n".join(parts) + ("\n" if findings else "")


def beyond_evidence(datasets: list[Measured]) -> str:
    """Return the evidence's second part: known graphs, ablations, and calibration of waiting times."""
    parts = [HEADING]
    for data in datasets:
        parts += [
            f"### {data.title}\n",
            rem_agreement_table(data),
            ablations(data),
            calibration_section(data),
        ]
    return "\n".join(part for part in parts if part)


def of_rem(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of relational-event models."""
    return rows.filter(pl.col("interaction") == HISTORY)


def decimals_of(data: Measured) -> dict[str, int]:
    """Return decimals per metric, more if a baseline's MAR is below 1, to keep values distinguishable."""
    return FINE_DECIMALS if any(row[MAR.name] < 1 for row in data.baselines) else DECIMALS


def predictor_table(datasets: list[Measured]) -> str:
    """Return a table of the predictors of every dataset, below its title."""
    headings = ["Predictor", "Seeds", "knows who acted", *HEADINGS, "better by"]
    rows = []
    for data in datasets:
        rows += [[f"**{data.title}**", *[""] * (len(headings) - 1)], *predictor_rows(data)]
    return markdown_table(headings, rows, left=3)


def predictor_rows(data: Measured) -> list[list[str]]:
    """Return rows of the model with and without roles, each above the best baseline of equal information."""
    rows = []
    for variant, by_role in ((REM, True), (REM_ROLE_BLIND, False)):
        best = data.best_baseline(by_role=by_role)
        scores = data.score(variant, HISTORY)
        knows = "yes" if by_role else "no"
        if scores and best is not None:
            gain = Difference("", tuple(best[MAR.name] - mar for mar in scores.values()))
            rows.append(
                [
                    data.model(variant),
                    str(len(scores)),
                    knows,
                    *model_cells(data, variant),
                    difference_cell(gain, decimals_of(data)[MAR.name]),
                ]
            )
        if best is not None:
            label = baseline_label(best["baseline"], best["relation"])
            rows.append([label, NONE, knows, *baseline_cells(best, decimals_of(data)), ""])
    return rows


def model_cells(data: Measured, variant: str) -> list[str]:
    """Format the metrics of a trained variant: all test communications, then never-seen pairs."""
    never = of_model(data.groups, variant, HISTORY).filter(pl.col("value") == NEVER_SEEN)
    decimals = decimals_of(data)
    cells = [
        mean_and_std(data.score(variant, HISTORY, metric).values(), decimals[metric]) for metric in DECIMALS
    ]
    cells += [
        mean_and_std(by_seed(never, metric).values(), places)
        for metric, places in NEVER_SEEN_DECIMALS.items()
    ]
    return cells


def baseline_cells(row: Row, decimals: dict[str, int]) -> list[str]:
    """Format the same metrics of a baseline."""
    cells = [number(row[metric], decimals[metric]) for metric in DECIMALS]
    cells += [number(row[f"never_seen_{metric}"], places) for metric, places in NEVER_SEEN_DECIMALS.items()]
    return cells


def difference_cell(difference: Difference | None, decimals: int) -> str:
    """Format a mean difference with its 95 % interval."""
    if difference is None:
        return NONE
    mean = f"{difference.mean:+.{decimals}f}"
    if difference.interval is None:
        return mean
    low, high = difference.interval
    return f"{mean} [{low:+.{decimals}f}, {high:+.{decimals}f}]"


def rem_agreement_table(data: Measured) -> str:
    """Return a table of AUC (%) of REM's final latent graph and of counts with the final known graphs."""
    rows = [
        [relation, *(mean_and_std(values, 1) for values in columns)]
        for relation, columns in rem_agreements(data).items()
    ]
    if not rows:
        return ""
    return "AUC (%) with the known graphs at the end of training:\n\n" + markdown_table(
        ["Relation", "REM, excitation", *COUNTING.values()], rows
    )


def rem_agreements(data: Measured) -> dict[str, list[list[float]]]:
    """Return AUC (%) with each known graph for which REM has one: REM's by seed, then those of counts."""
    at_end = data.auc.filter(pl.col("snapshot") == FINAL, pl.col("edge_type").is_null())
    columns = [
        of_model(at_end, REM, HISTORY).filter(pl.col("attention") == FINAL),
        *(at_end.filter(pl.col("variant") == counted) for counted in COUNTING),
    ]
    by_relation = {
        relation: [(100 * rows.filter(pl.col("relation") == relation)["auc"]).to_list() for rows in columns]
        for relation in data.relations
    }
    return {relation: values for relation, values in by_relation.items() if values[0]}


def rem_agreement_in_short(data: Measured) -> str:
    """Summarize the range of REM's AUC over the known graphs, beside that of counting all events."""
    by_relation = rem_agreements(data)
    if not by_relation:
        return ""
    ours, counted = (
        [fmean(values[column]) for values in by_relation.values() if values[column]] for column in (0, 1)
    )
    text = f"REM's graph has AUC {percent_range(ours)} with {count(len(by_relation), 'known graph')}"
    return f"{text}, {COUNTING[FREQUENCY]} {percent_range(counted)}." if counted else f"{text}."


def percent_range(values: Sequence[float]) -> str:
    """Format the lowest and the highest of percentages."""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def ablations(data: Measured) -> str:
    """Return a table of every other variant, with its MAR minus the full model's, paired by seed."""
    rows = [
        [
            data.model(variant),
            str(len(data.score(variant, HISTORY))),
            *model_cells(data, variant),
            difference_cell(difference, decimals_of(data)[MAR.name]),
        ]
        for variant, difference in ablated(data).items()
    ]
    if not rows:
        return ""
    return "What carries it:\n\n" + markdown_table(["Variant", "Seeds", *HEADINGS, "MAR above REM's"], rows)


def ablated(data: Measured) -> dict[str, Difference | None]:
    """Return per other variant its MAR minus the full model's; None without a common seed."""
    whole = data.score(REM, HISTORY)
    return {
        variant: paired("", whole, scores)
        for variant in ablation_names()
        if (scores := data.score(variant, HISTORY))
    }


def ablations_in_short(data: Measured) -> str:
    """Summarize how many other variants rank worse by their interval, and which is worst."""
    variants = ablated(data)
    worse = {
        variant: difference
        for variant, difference in variants.items()
        if difference is not None and difference.interval is not None and difference.interval[0] > 0
    }
    if not variants:
        return ""
    text = f"Of {count(len(variants), 'variant')} {len(worse)} rank worse by their 95 % interval"
    if not worse:
        return f"{text}."
    most = max(worse, key=lambda variant: worse[variant].mean)
    return (
        f"{text}, {data.model(most)} the most: {difference_cell(worse[most], decimals_of(data)[MAR.name])}."
    )


def ablation_names() -> Sequence[str]:
    """Return all variants except the model itself, ablations of a statistics group last."""
    others = [variant for variant in rem_variants() if variant.name != REM]
    return [variant.name for variant in sorted(others, key=lambda variant: bool(variant.without))]
