"""The paper's Tables 2, 3 and 4 as rows, labels and cells, for terminal, report and results page."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import duckdb

from pipeline.names import FINAL, FREQUENCIES, MAR, PAPER_METRICS, PLANTED, SNAPSHOTS, baseline_label
from pipeline.show.labels import NONE, number
from pipeline.text import printable, told_apart
from pipeline.variants import PAPER_INTERACTIONS, PRIORS

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Our value and the published one as texts, whether ours reaches it, and whether ours is the best."""

    ours: str | None
    published: str | None = None
    reached: bool | None = None
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A table row: its labels, and one cell per column, by group of columns."""

    stub: tuple[str, ...]
    groups: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    """A group of table rows with an optional title."""

    title: str | None
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Group:
    """Columns under one heading; a single column may have no heading of its own."""

    heading: str
    columns: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class PrintedTable:
    """A table to lay out; `key` is its name in addresses."""

    key: str
    title: str
    stub: tuple[str, ...]
    groups: tuple[Group, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[Line]:
        """The rows of all sections."""
        return [line for section in self.sections for line in section.lines]

    @property
    def width(self) -> int:
        """The number of columns, label columns included."""
        return len(self.stub) + sum(len(group.columns) for group in self.groups)

    @property
    def has_published(self) -> bool:
        """Return whether any cell has a published value."""
        return any(cell.published for line in self.lines for group in line.groups for cell in group)

    def without_empty_columns(self) -> "PrintedTable":
        """Return the table without the columns that have no value in any row."""
        kept = [
            [
                place
                for place in range(len(group.columns))
                if any(line.groups[number][place].ours is not None for line in self.lines)
            ]
            for number, group in enumerate(self.groups)
        ]

        def cells_kept(line: Line) -> Line:
            cells = zip(line.groups, kept, strict=True)
            groups = (tuple(group[place] for place in places) for group, places in cells if places)
            return replace(line, groups=tuple(groups))

        return replace(
            self,
            groups=tuple(
                replace(group, columns=tuple(group.columns[place] for place in places))
                for group, places in zip(self.groups, kept, strict=True)
                if places
            ),
            sections=tuple(
                replace(section, lines=tuple(map(cells_kept, section.lines))) for section in self.sections
            ),
        )


def rows_of(warehouse: duckdb.DuckDBPyConnection, query: str, *values: object) -> list[Row]:
    """Run a query and return its rows by column name, with control characters in texts made harmless."""
    result = warehouse.execute(query, list(values))
    columns = [column[0] for column in result.description or ()]
    return [
        {
            column: printable(value) if isinstance(value, str) else value
            for column, value in zip(columns, row, strict=True)
        }
        for row in result.fetchall()
    ]


def printed_tables(warehouse: duckdb.DuckDBPyConnection) -> list[PrintedTable]:
    """Return every table of a warehouse that has rows: Table 2, then Tables 3 and 4 of each dataset."""
    datasets = rows_of(warehouse, "select dataset, title from dataset_stats order by dataset")
    named = [(row["dataset"], row["title"]) for row in datasets]
    tables = [
        table_2(rows_of(warehouse, "from table_2"), dict(named)),
        *(table_3(warehouse, dataset, title) for dataset, title in named),
        *(table_4(warehouse, dataset, title) for dataset, title in named),
    ]
    return [table.without_empty_columns() for table in tables if table.lines]


def table_2(rows: Iterable[Row], titles: dict[str, str]) -> PrintedTable:
    """Lay out Table 2, statistics as rows and datasets as columns; `rows` are those of the view."""
    by_statistic: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_statistic.setdefault(row["statistic"].removeprefix("# "), {})[row["dataset"]] = row
    lines = tuple(
        Line((statistic,), tuple((statistic_cell(of_dataset[dataset]),) for dataset in titles))
        for statistic, of_dataset in by_statistic.items()
    )
    groups = tuple(Group(title) for title in titles.values())
    return PrintedTable("table-2", "Table 2. Datasets", ("Statistic",), groups, (Section(None, lines),))


def statistic_cell(row: Row) -> Cell:
    """Return a count and the published one as a cell."""
    published = None if row["published"] is None else f"{row['published']:,}"
    return Cell(f"{row['value']:,}", published, row["agrees"])


def table_3(warehouse: duckdb.DuckDBPyConnection, dataset: str, title: str) -> PrintedTable:
    """Lay out Table 3: models, then baselines, as rows; metrics as columns, the best of each part marked."""
    sections = (
        Section(None, model_lines(warehouse, dataset)),
        Section("No learning at all", baseline_lines(warehouse, dataset)),
    )
    return PrintedTable(
        f"table-3-{key_of_dataset(dataset)}",
        f"Table 3. Link prediction on {title}: mean ± std over seeds",
        ("Model", "Attention"),
        tuple(Group(metric.heading, PAPER_INTERACTIONS) for metric in PAPER_METRICS),
        tuple(section for section in sections if section.lines),
        tuple(filter(None, [table_3_verdict(warehouse, dataset), BOTH_COLUMNS])),
    )


BOTH_COLUMNS = "A predictor with neither concat nor bilinear has the same value in both columns."


def model_lines(warehouse: duckdb.DuckDBPyConnection, dataset: str) -> tuple[Line, ...]:
    """Return a line per variant, the paper's interactions side by side; any other has a line of its own."""
    rows = rows_of(warehouse, "from table_3 where dataset = ?", dataset)
    best = {
        metric.name: best_of(
            metric.lower_is_better,
            (row[f"{metric.name}_{how}_mean"] for row in rows for how in PAPER_INTERACTIONS),
        )
        for metric in PAPER_METRICS
    }
    return tuple(
        Line(
            (model_label(row), learned_word(row)),
            tuple(
                tuple(
                    Cell(
                        row[f"{metric.name}_{how}"],
                        row[f"{metric.name}_{how}_published"],
                        row[f"{metric.name}_{how}_reached"],
                        is_best(row[f"{metric.name}_{how}_mean"], best[metric.name]),
                    )
                    for how in PAPER_INTERACTIONS
                )
                for metric in PAPER_METRICS
            ),
        )
        for row in rows
    )


def model_label(row: Row) -> str:
    """Return a model's name in `table_3`, with its interaction if that is not one of the columns."""
    interaction = f", {row['interaction']}" if row["interaction"] else ""
    return row["model"] + interaction + stale_note(row)


def learned_word(row: Row) -> str:
    """Return "learned" if a model learns its attention, else a dash."""
    return "learned" if row["learned_attention"] else NONE


def stale_note(row: Row) -> str:
    """Return the suffix that marks results on an earlier event table."""
    return " (of earlier events)" if row["stale"] else ""


def baseline_lines(warehouse: duckdb.DuckDBPyConnection, dataset: str) -> tuple[Line, ...]:
    """Return a line per baseline, the best first, with the same value for both interactions."""
    rows = rows_of(warehouse, "from baselines where dataset = ? order by mar, baseline, relation", dataset)
    best = {
        metric.name: best_of(metric.lower_is_better, (row[metric.name] for row in rows))
        for metric in PAPER_METRICS
    }
    return tuple(
        Line(
            (baseline_label(row["baseline"], row["relation"]) + stale_note(row), NONE),
            tuple(
                (Cell(number(row[m.name], m.decimals), best=is_best(row[m.name], best[m.name])),)
                * len(PAPER_INTERACTIONS)
                for m in PAPER_METRICS
            ),
        )
        for row in rows
    )


def table_3_verdict(warehouse: duckdb.DuckDBPyConnection, dataset: str) -> str:
    """Return a sentence on whether learning beats the baselines on present events; empty if unknown.

    Each model is compared with the best baseline that has no more information, as in the leaderboard. A model
    that beats its baseline is preferred to one that ranks better and does not.
    """
    models = rows_of(
        warehouse,
        "select mar, by_role from leaderboard where dataset = ? and learns and not stale and not isnan(mar) "
        "order by beats_baselines desc nulls last, mar limit 1",
        dataset,
    )
    counted = rows_of(
        warehouse,
        "from best_baselines where dataset = ? and not stale and model_by_role = ?",
        dataset,
        any(model["by_role"] for model in models),
    )
    if not models or not counted:
        return ""
    return best_against_counting("learned model", models[0][MAR.name], counted[0])


def best_against_counting(kind: str, mar: float, counted: Row) -> str:
    """Return a sentence comparing the best model of a kind with its best baseline, `counted`."""
    label = baseline_label(counted["baseline"], counted["relation"])
    ours, theirs = told_apart(mar, counted[MAR.name], MAR.decimals)
    if MAR.better(mar, counted[MAR.name]):
        return (
            f"The best {kind} (MAR {ours}) beats the best predictor that learns nothing and knows no "
            f"more, {label} (MAR {theirs})."
        )
    return (
        f"No {kind} beats the best predictor that learns nothing and knows no more: {label} has MAR "
        f"{theirs}, the best {kind} {ours}."
    )


def table_4(warehouse: duckdb.DuckDBPyConnection, dataset: str, title: str) -> PrintedTable:
    """Lay out Table 4: known graphs as rows, a section per interaction; AUC by snapshot as columns."""
    rows = rows_of(warehouse, "from table_4 where dataset = ?", dataset)
    sections = [
        Section(interaction, tuple(agreement_line(row) for row in rows if row["interaction"] == interaction))
        for interaction in dict.fromkeys(row["interaction"] for row in rows)
    ]
    return PrintedTable(
        f"table-4-{key_of_dataset(dataset)}",
        f"Table 4. AUC (%) of the learned graph with known graphs, {title}; 50 is chance",
        ("Known graph",),
        tuple(Group(snapshot, (*PRIORS, *COUNTS)) for snapshot in SNAPSHOTS),
        tuple(sections),
        tuple(filter(None, [table_4_verdict(rows, title), COUNTS_NOTE, planted_note(rows)]))
        if sections
        else (),
    )


COUNTS = ("counts", "comm. counts")
COUNTS_NOTE = (
    "No learning: counts, comm. counts are the AUC of a pair's number of training events, and of its "
    "communications alone."
)


def table_4_verdict(rows: Sequence[Row], title: str) -> str:
    """Return a sentence comparing the final learned graph with event counts; empty if unknown."""
    aucs: dict[str, tuple[float, float]] = {}  # by relation: AUC of the best model, AUC of counts
    for row in rows:
        learned = best_of(False, (row[f"{FINAL}_{prior}_mean"] for prior in PRIORS))
        counted = row[f"{FINAL}_{FREQUENCIES[0]}"]
        if learned is not None and counted is not None and not row["stale"]:
            aucs[row["relation"]] = max(aucs.get(row["relation"], (0.0, 0.0)), (learned, counted))
    if not aucs:
        return ""
    better = sum(learned > counted for learned, counted in aucs.values())
    relation = PLANTED if PLANTED in aucs else max(aucs, key=lambda name: aucs[name])
    ours, theirs = told_apart(*aucs[relation], 0)
    return (
        f"{title}: the graph that LDG learned separates {better or 'none'} of {len(aucs)} known graphs "
        f"better than counting a pair's training events does, which needs no learning. "
        f"{graph_label(relation)}: learned {ours} %, counted {theirs} %."
    )


def graph_label(relation: str) -> str:
    """Return the printed name of a known graph; the planted one is marked as ground truth."""
    return f"{PLANTED} (ground truth)" if relation == PLANTED else relation


def planted_note(rows: Sequence[Row]) -> str:
    """Return a sentence on the planted graph; empty if no row is about one."""
    if all(row["relation"] != PLANTED for row in rows):
        return ""
    return (
        f"{graph_label(PLANTED)} is no result: it is given from outside and shown to no model. Of simulated "
        "data it is the graph that the simulation planted, known only because the data are simulated."
    )


def agreement_line(row: Row) -> Line:
    """Return a known graph's line, initial and final: both priors, then both counts, the best marked."""
    groups = []
    for snapshot in SNAPSHOTS:
        learned = {f"{snapshot}_{prior}": row[f"{snapshot}_{prior}_mean"] for prior in PRIORS}
        counted = {f"{snapshot}_{frequency}": row[f"{snapshot}_{frequency}"] for frequency in FREQUENCIES}
        best = best_of(False, (learned | counted).values())
        cells = []
        for name, mean in learned.items():
            published = row[f"{name}_published"]
            shown = None if published is None else str(published)
            cells.append(Cell(row[name], shown, row[f"{name}_reached"], is_best(mean, best)))
        cells += [
            Cell(None if auc is None else number(auc, 0), best=is_best(auc, best)) for auc in counted.values()
        ]
        groups.append(tuple(cells))
    return Line((graph_label(row["relation"]),), tuple(groups))


def best_of(lower_is_better: bool, values: Iterable[float | None]) -> float | None:
    """Return the best value, ignoring None and NaN; None if nothing is left."""
    present = [value for value in values if value is not None and not isnan(value)]
    choose: Callable[..., float] = min if lower_is_better else max
    return choose(present) if present else None


def is_best(value: float | None, best: float | None) -> bool:
    """Return whether a value equals the best one."""
    return value is not None and value == best


def key_of_dataset(dataset: str) -> str:
    """Encode a dataset's name for a printed table's key; any characters are allowed."""
    return dataset.encode().hex()
