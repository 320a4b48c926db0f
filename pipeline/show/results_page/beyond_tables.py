"""Tables for results that the paper shows only as figures (Fig. 5, Fig. 8), and for never-seen pairs."""

from itertools import product

import polars as pl

from pipeline.names import ASSOCIATES, FINAL, INITIAL, MAR, PAIRS, PAPER_METRICS, baseline_label
from pipeline.show.labels import NO_LEARNING, NONE, mean_and_std, number
from pipeline.show.results_page.claims import dyreps
from pipeline.show.results_page.markdown import markdown_table
from pipeline.show.results_page.measured import Measured, by_seed, of_model
from pipeline.show.tables import Row
from pipeline.variant_names import BILINEAR, CONCAT, ldg_name
from pipeline.variants import DYREP, DYREP_WIDE, PAPER_INTERACTIONS, PRIORS, dyrep_title


def learned_graph_section(data: Measured, shown: dict[str, str]) -> list[str]:
    """Return the section behind a dataset's Table 4: AUC of every edge type, and the learned graphs."""
    if not data.table_4:
        return []
    return [
        f"## The learned graph: {data.title}\n",
        "In Table 4 one edge type stands for a model, picked per seed by the final graph of the own "
        f"relation. AUC of each edge type with the final {data.own_relation} graph:\n",
        edge_types(data),
        *(shown.get(shows, "") for shows in ("agreement", "adjacency")),
    ]


def association_graph_section(data: Measured, shown: dict[str, str]) -> list[str]:
    """Return Fig. 8 of a dataset as a section; empty with fewer than two association graphs."""
    if len(dyreps(data)) < 2:
        return []
    return [
        f"## Fig. 8: association graphs, {data.title}\n",
        table_of_association_graphs(data),
        shown.get("associations", ""),
    ]


def never_seen_section(data: Measured) -> list[str]:
    """Return the section on the ranking of seen and never-seen pairs."""
    return [f"## Pairs never seen before: {data.title}\n", seen_and_never_seen(data)]


def wider_models(datasets: list[Measured]) -> str:
    """Return Fig. 5 as a table: DyRep concat, concat with as many parameters as bilinear, bilinear."""
    rows = []
    for data in datasets:
        for name, how in ((DYREP, CONCAT), (DYREP_WIDE, CONCAT), (DYREP, BILINEAR)):
            row = next((row for row in data.table_3 if row["variant"] == name), None)
            facts = data.models.get((name, how), {})
            if row is not None and row[f"{MAR.name}_{how}"] is not None:
                parameters = facts.get("parameters")
                rows.append(
                    [
                        data.title,
                        row["model"],
                        how,
                        NONE if parameters is None else f"{parameters:,}",
                        str(facts.get("width", NONE)),
                        *(row[f"{metric.name}_{how}"] for metric in PAPER_METRICS),
                    ]
                )
    headings = ["Data", "Model", "Interaction", "Parameters", "Width"]
    return markdown_table([*headings, *(metric.heading for metric in PAPER_METRICS)], rows, left=3)


def table_of_association_graphs(data: Measured) -> str:
    """Return Fig. 8 as a table: DyRep on every association graph, beside the graph's associates alone."""
    rows = []
    for name in dyreps(data):
        row = next(row for row in data.table_3 if row["variant"] == name)
        rows.append([row["model"], number(associates_alone(data, row["model"]), 1)])
        rows[-1] += [
            row[f"{metric.name}_{how}"] or NONE for metric, how in product(PAPER_METRICS, PAPER_INTERACTIONS)
        ]
    headings = ["Model", f"associates alone, {MAR.heading}"]
    headings += [f"{metric.heading} {how}" for metric, how in product(PAPER_METRICS, PAPER_INTERACTIONS)]
    return markdown_table(headings, rows)


def associates_alone(data: Measured, model: str) -> float | None:
    """Return MAR of random ranking among the associates in the graph of a model such as `DyRep (Follow)`."""
    return next(
        (
            row["mar"]
            for row in data.baselines
            if row["baseline"] == ASSOCIATES and model == dyrep_title(row["relation"])
        ),
        None,
    )


def edge_types(data: Measured) -> str:
    """Return a table of each edge type's AUC (%) with the final graph of the own relation.

    Edge types have neither names nor order, so the columns are the picked type, the others, the sum of all,
    and the sum at the random start.
    """
    rows = []
    final_agreement = data.auc.filter(pl.col("relation") == data.own_relation, pl.col("snapshot") == FINAL)
    for variant, how in product((ldg_name("learned", prior) for prior in PRIORS), PAPER_INTERACTIONS):
        ours = of_model(final_agreement, variant, how).with_columns(auc=100 * pl.col("auc"))
        final = ours.filter(pl.col("attention") == FINAL)
        if final.is_empty():
            continue
        picked = final.filter("picked")
        counts = picked.group_by("edge_type").len().sort("edge_type").iter_rows()
        typed = pl.col("edge_type").is_not_null()
        parts = (
            picked,
            final.filter(typed, ~pl.col("picked")).group_by("seed").agg(pl.col("auc").mean()),
            final.filter(~typed),
            ours.filter(pl.col("attention") == INITIAL, ~typed),
        )
        rows.append(
            [data.model(variant), how, *(mean_and_std(by_seed(part, "auc").values(), 1) for part in parts)]
        )
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
    return markdown_table(headings, rows, left=3)


def seen_and_never_seen(data: Measured) -> str:
    """Return a table of MAR over test communications of seen and of never-seen pairs."""
    rows = [
        [
            row["model"],
            how,
            *(mean_and_std(data.pair_score(row["variant"], how, pair).values(), 1) for pair in PAIRS),
        ]
        for row in data.table_3
        for how in PAPER_INTERACTIONS
        if row[f"{MAR.name}_{how}"] is not None
    ]
    rows += [
        [
            baseline_label(row["baseline"], row["relation"]),
            NO_LEARNING,
            number(seen_mar(row), 1),
            number(row["never_seen_mar"], 1),
        ]
        for row in data.baselines
    ]
    return markdown_table(
        ["Model", "Interaction", *(f"{pair}, {MAR.heading}" for pair in PAIRS)], rows, left=2
    )


def seen_mar(row: Row) -> float | None:
    """Return a baseline's MAR over seen pairs, derived from its MAR over all and over never-seen pairs."""
    never = row["never_seen_events"] or 0
    if row["events"] == never:
        return None
    never_sum = never * row["never_seen_mar"] if never else 0.0
    return (row["events"] * row["mar"] - never_sum) / (row["events"] - never)
