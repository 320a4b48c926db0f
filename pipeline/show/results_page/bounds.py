"""Cells of Tables 3 and 4 that reach the published ones, and the distances of those that do not."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from pipeline.names import PAPER_METRICS, Metric
from pipeline.schemas import CELLS_4
from pipeline.show.results_page.markdown import markdown_table
from pipeline.show.results_page.measured import Measured
from pipeline.show.tables import Row
from pipeline.text import told_apart
from pipeline.variants import PAPER_INTERACTIONS


@dataclass(frozen=True)
class Miss:
    """A cell that misses its bound: cell name, ours, published, and the distance in the cell's unit."""

    where: str
    ours: str
    published: str
    distance: str


def misses_section(datasets: list[Measured]) -> str:
    """Return the section on cells that miss their bound; the reasons are in the documentation."""
    rows = [[miss.where, miss.ours, miss.published, miss.distance] for miss in misses(datasets)]
    if not rows:
        return "None.\n"
    reasons = 'Reasons: `docs/model.md`, "Where published figures are not reached".\n\n'
    return reasons + markdown_table(["Cell", "ours", "published", "by how much"], rows, left=4)


def misses(datasets: list[Measured]) -> list[Miss]:
    """Return every cell of Tables 3 and 4 that misses its bound."""
    return [miss for data in datasets for miss in (*prediction_misses(data), *agreement_misses(data))]


def prediction_misses(data: Measured) -> list[Miss]:
    """Return the cells of Table 3 that miss their bound."""
    return [
        Miss(
            f"{data.title}, {row['model']}, {how}, {metric.title}",
            row[name],
            row[f"{name}_published"],
            distance(row, name, metric),
        )
        for row in data.printed_rows()
        for metric, how in product(PAPER_METRICS, PAPER_INTERACTIONS)
        if row[f"{(name := f'{metric.name}_{how}')}_reached"] is False
    ]


def distance(row: Row, name: str, metric: Metric) -> str:
    """Describe a Table 3 cell's distance from its bound and from the published mean."""
    ours, std = row[f"{name}_mean"], row[f"{name}_published_std"]
    beyond, _ = told_apart(abs(ours - row[f"{name}_bound"]), 0.0, metric.decimals)
    stds = abs(ours - row[f"{name}_published_mean"]) / std
    return f"{beyond} beyond the bound; {stds:.1f} published std from the published mean"


def agreement_misses(data: Measured) -> list[Miss]:
    """Return the cells of Table 4 that miss their bound."""
    return [
        Miss(
            f"{data.title}, {row['relation']}, {row['interaction']}, AUC, {snapshot} {prior}",
            row[cell],
            str(row[f"{cell}_published"]),
            f"{told_apart(row[f'{cell}_bound'] - row[f'{cell}_mean'], 0.0, 1)[0]} points beyond the bound",
        )
        for row in data.table_4
        for snapshot, prior, cell in CELLS_4
        if row[f"{cell}_reached"] is False
    ]


def reached_counts(datasets: list[Measured]) -> dict[str, tuple[int, int]]:
    """Count the cells that reach the published ones and the cells with a bound, by metric."""
    counts = {
        metric.title: reached(
            row[f"{metric.name}_{how}_reached"]
            for data in datasets
            for row in data.printed_rows()
            for how in PAPER_INTERACTIONS
        )
        for metric in PAPER_METRICS
    }
    rows = [row for data in datasets for row in data.table_4]
    for how in dict.fromkeys(row["interaction"] for row in rows):
        counts[f"AUC ({how})"] = reached(
            row[f"{cell}_reached"] for row in rows if row["interaction"] == how for *_, cell in CELLS_4
        )
    return counts


def reached(flags: Iterable[bool | None]) -> tuple[int, int]:
    """Count the true flags and the flags that are not None."""
    bounded = [flag for flag in flags if flag is not None]
    return sum(bounded), len(bounded)
