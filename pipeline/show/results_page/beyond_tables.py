"""What the paper shows in figures only, as tables: Fig. 4, Fig. 6, and pairs that were never seen."""

from itertools import product

import polars as pl

from pipeline.show.results_page.claims import dyreps
from pipeline.show.results_page.markdown import NONE, number, table
from pipeline.show.results_page.measured import INTERACTIONS, BySeed, Measured, by_seed, of_model
from pipeline.show.results_page.printed_tables import baseline_label


def wider_models(found: list[Measured]) -> str:
    """Fig. 4: DyRep concat, concat with as many parameters as bilinear, bilinear."""
    rows = []
    for data in found:
        for name, how in (("dyrep", "concat"), ("dyrep_wide", "concat"), ("dyrep", "bilinear")):
            row = next((row for row in data.table_3 if row["variant"] == name), None)
            facts = data.models.get((name, how), {})
            if row is not None and row[f"mar_{how}"] is not None:
                parameters = facts.get("parameters")
                rows.append(
                    [
                        data.title,
                        row["model"],
                        how,
                        NONE if parameters is None else f"{parameters:,}",
                        str(facts.get("width", NONE)),
                        row[f"mar_{how}"],
                        row[f"hits_at_10_{how}"],
                    ]
                )
    headings = ["Data", "Model", "Interaction", "Parameters", "Width", "MAR ↓", "HITS@10 ↑"]
    return table(headings, rows, left=3)


def association_graphs(data: Measured) -> str:
    """Fig. 6: DyRep on every association graph, beside the same graph without learning."""
    rows = []
    for name in dyreps(data):
        row = next(row for row in data.table_3 if row["variant"] == name)
        rows.append([row["model"], number(associates_alone(data, row["model"]), 1)])
        rows[-1] += [
            row[f"{metric}_{how}"] or NONE for metric in ("mar", "hits_at_10") for how in INTERACTIONS
        ]
    headings = ["Model", "associates alone, MAR ↓", "MAR ↓ concat", "MAR ↓ bilinear"]
    return table([*headings, "HITS@10 ↑ concat", "HITS@10 ↑ bilinear"], rows)


def associates_alone(data: Measured, model: str) -> float | None:
    """MAR of sampling among the associates of the graph that `DyRep (Follow)`, for one, stands on."""
    return next(
        (
            row["mar"]
            for row in data.baselines
            if row["baseline"] == "associates" and model == f"DyRep ({row['relation']})"
        ),
        None,
    )


def edge_types(data: Measured) -> str:
    """Which edge type is near the own relation: AUC (%) of each with its final graph, and of what comes free.

    Edge types have no names and no order, so that they are told apart as the picked one and the others.
    """
    rows = []
    known = data.auc.filter(pl.col("relation") == data.own_relation, pl.col("snapshot") == "final")
    for variant, how in product(("ldg_learned_uniform", "ldg_learned_sparse"), INTERACTIONS):
        ours = of_model(known, variant, how).with_columns(auc=100 * pl.col("auc"))
        final = ours.filter(pl.col("attention") == "final")
        if final.is_empty():
            continue
        picked = final.filter("picked")
        counts = picked.group_by("edge_type").len().sort("edge_type").iter_rows()
        typed = pl.col("edge_type").is_not_null()
        parts = (
            picked,
            final.filter(typed, ~pl.col("picked")).group_by("seed").agg(pl.col("auc").mean()),
            final.filter(~typed),
            ours.filter(pl.col("attention") == "initial", ~typed),
        )
        rows.append([data.model(variant), how, *(with_std(by_seed(part, "auc")) for part in parts)])
        rows[-1].insert(2, ", ".join(f"{edge_type + 1} ({seeds}×)" for edge_type, seeds in counts))
    headings = [
        "Model",
        "Interaction",
        "Type picked",
        "picked",
        "the others",
        "all summed",
        "random start, summed",
    ]
    return table(headings, rows, left=3)


def seen_and_never_seen(data: Measured) -> str:
    """MAR over test communications of pairs seen before and of pairs never seen."""
    rows = [
        [row["model"], how, *(with_std(data.pair_score(row["variant"], how, pair)) for pair in PAIRS)]
        for row in data.table_3
        for how in INTERACTIONS
        if row[f"mar_{how}"] is not None
    ]
    rows += [
        [baseline_label(row), "no learning", number(seen_mar(row), 1), number(row["never_seen_mar"], 1)]
        for row in data.baselines
    ]
    return table(["Model", "Interaction", "seen before, MAR ↓", "never seen, MAR ↓"], rows, left=2)


PAIRS = ("seen before", "never seen")


def seen_mar(row: dict) -> float | None:
    """A baseline's MAR over pairs seen before, which is what its two other figures leave."""
    never = row["never_seen_events"] or 0
    if row["events"] == never:
        return None
    never_sum = never * row["never_seen_mar"] if never else 0.0
    return (row["events"] * row["mar"] - never_sum) / (row["events"] - never)


def with_std(values: BySeed) -> str:
    """Mean ± std over seeds."""
    if not values:
        return NONE
    mean = sum(values.values()) / len(values)
    if len(values) == 1:
        return f"{mean:.1f}"
    spread = (sum((value - mean) ** 2 for value in values.values()) / (len(values) - 1)) ** 0.5
    return f"{mean:.1f} ± {spread:.1f}"
