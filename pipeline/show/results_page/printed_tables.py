"""The paper's Tables 2, 3 and 4, ours beside the published, cell by cell, with the baselines."""

from dataclasses import dataclass
from itertools import product

from pipeline.show.results_page.markdown import NONE, mark, number, table
from pipeline.show.results_page.measured import INTERACTIONS, Measured, Row

DECIMALS = {"mar": 1, "hits_at_10": 2}
METRICS = {"mar": "MAR", "hits_at_10": "HITS@10"}
# Published AUCs have no standard deviation; this many points below one still count as reaching it.
AUC_SLACK = 5
AUC_CELLS = tuple(
    f"{snapshot}_{prior}" for snapshot, prior in product(("initial", "final"), ("uniform", "sparse"))
)


@dataclass(frozen=True)
class Miss:
    """A cell that is worse than its bound: which, ours, published, and by how much in the cell's unit."""

    where: str
    ours: str
    published: str
    distance: str


def statistics(found: list[Measured]) -> str:
    """Table 2: ours, published and whether they agree, dataset by dataset."""
    headings, columns = ["Statistic"], []
    for data in found:
        headings += [data.title, "published", ""]
        columns.append({row["statistic"]: row for row in data.table_2})
    rows = []
    for statistic in columns[0]:
        cells = [statistic.removeprefix("# ")]
        for column in columns:
            row = column[statistic]
            published = NONE if row["published"] is None else f"{row['published']:,}"
            cells += [f"{row['value']:,}", published, mark(row["agrees"])]
        rows.append(cells)
    return table(headings, rows)


def predictions(data: Measured) -> str:
    """Table 3 of a dataset, a row a cell: the paper's rows, then ours beyond them, then the baselines."""
    printed = data.printed_rows()
    beyond = [row for row in data.table_3 if row not in printed]
    rows = [prediction(row, how) for row in printed for how in INTERACTIONS]
    rows += [prediction(row, how) for row in beyond for how in INTERACTIONS if row[f"mar_{how}"] is not None]
    rows += [
        [
            baseline_label(row),
            "no learning",
            f"{row['mar']:.1f}",
            "",
            "",
            f"{row['hits_at_10']:.2f}",
            "",
            "",
        ]
        for row in data.baselines
    ]
    headings = ["Model", "Interaction", "MAR ↓", "published", "", "HITS@10 ↑", "published", ""]
    return table(headings, rows, left=2)


def prediction(row: Row, how: str) -> list[str]:
    """One line of Table 3: both metrics of a model with one interaction."""
    cells = [row["model"], how]
    for metric in METRICS:
        name = f"{metric}_{how}"
        cells += [row[name] or NONE, row[f"{name}_published"] or NONE, mark(row[f"{name}_reached"])]
    return cells


def baseline_label(row: Row) -> str:
    """A predictor that learns nothing, as a person reads it."""
    name = row["baseline"].replace("_", " ")
    return f"{name} ({row['relation']})" if row["relation"] else name


def reaches(row: Row, cell: str) -> bool | None:
    """Whether an AUC is at most `AUC_SLACK` points below the published one."""
    ours, published = row[f"{cell}_mean"], row[f"{cell}_published"]
    return None if ours is None or published is None else ours >= published - AUC_SLACK


def agreements(data: Measured) -> str:
    """Table 4 of a dataset: ours, the published in brackets, and plain frequency beside."""
    headings = ["Relation", "Interaction"]
    for snapshot in ("initial", "final"):
        headings += [f"{snapshot}, uniform", f"{snapshot}, sparse"]
        headings += [f"{snapshot}, frequency", f"{snapshot}, frequency of communications"]
    rows = []
    for row in data.table_4:
        cells = [row["relation"], row["interaction"]]
        for snapshot in ("initial", "final"):
            cells += [agreement(row, f"{snapshot}_{prior}") for prior in ("uniform", "sparse")]
            cells += [number(row[f"{snapshot}_{of}"], 0) for of in ("frequency", "communication_frequency")]
        rows.append(cells)
    return table(headings, rows, left=2)


def agreement(row: Row, cell: str) -> str:
    """One AUC: `84 ± 2 (84) ✓`."""
    published = row[f"{cell}_published"]
    beside = "" if published is None else f" ({published})"
    return f"{row[cell] or NONE}{beside} {mark(reaches(row, cell))}".rstrip()


def misses(found: list[Measured]) -> list[Miss]:
    """Every cell of Tables 3 and 4 that is worse than its bound."""
    return [miss for data in found for miss in (*prediction_misses(data), *agreement_misses(data))]


def prediction_misses(data: Measured) -> list[Miss]:
    """Cells of Table 3 more than one published std worse than published."""
    return [
        Miss(
            f"{data.title}, {row['model']}, {how}, {METRICS[metric]}",
            row[name],
            row[f"{name}_published"],
            distance(row, name, metric),
        )
        for row in data.printed_rows()
        for metric, how in product(METRICS, INTERACTIONS)
        if row[f"{(name := f'{metric}_{how}')}_reached"] is False
    ]


def distance(row: Row, name: str, metric: str) -> str:
    """How far beyond its bound a cell of Table 3 is."""
    worse = abs(row[f"{name}_mean"] - row[f"{name}_published_mean"])
    std = row[f"{name}_published_std"]
    beyond = f"{worse - std:.{DECIMALS[metric]}f}"
    return f"{beyond} beyond the bound; {worse / std:.1f} published std from the published mean"


def agreement_misses(data: Measured) -> list[Miss]:
    """Cells of Table 4 more than `AUC_SLACK` points below published."""
    return [
        Miss(
            f"{data.title}, {row['relation']}, {row['interaction']}, AUC, {cell.replace('_', ' ')}",
            row[cell],
            str(row[f"{cell}_published"]),
            f"{row[f'{cell}_published'] - AUC_SLACK - row[f'{cell}_mean']:.1f} points beyond the bound",
        )
        for row in data.table_4
        for cell in AUC_CELLS
        if reaches(row, cell) is False
    ]


def reached_counts(found: list[Measured]) -> dict[str, tuple[int, int]]:
    """How many cells keep their bound, of how many there are, by what they measure."""
    counts = {}
    for metric, title in METRICS.items():
        flags = [
            row[f"{metric}_{how}_reached"]
            for data in found
            for row in data.printed_rows()
            for how in INTERACTIONS
        ]
        counts[title] = kept(flags)
    for how in INTERACTIONS:
        rows = [row for data in found for row in data.table_4 if row["interaction"] == how]
        counts[f"AUC, {how}"] = kept([reaches(row, cell) for row in rows for cell in AUC_CELLS])
    return counts


def kept(flags: list[bool | None]) -> tuple[int, int]:
    """How many are true, of those that are known."""
    known = [flag for flag in flags if flag is not None]
    return sum(known), len(known)
