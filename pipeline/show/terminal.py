"""The paper's Tables 2, 3 and 4 in a terminal, read from the warehouse."""

from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.lake import Lake
from pipeline.text import printable

Row = dict[str, Any]


def print_tables(lake: Lake, console: Console) -> None:
    """Print Tables 2, 3 and 4, with the published figure below ours where there is one, and the baselines."""
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        tables = [
            table_2(rows(warehouse, "from table_2")),
            *(table_3(*part) for part in by_dataset(rows(warehouse, "from table_3"))),
            *(
                baselines(*part)
                for part in by_dataset(rows(warehouse, "from baselines order by dataset, mar"))
            ),
            *(table_4(*part) for part in by_dataset(rows(warehouse, "from table_4"))),
        ]
    for table in tables:
        console.print(table)


def rows(warehouse: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """The rows of a query, each by column name, with texts that no terminal obeys."""
    result = warehouse.execute(query)
    columns = [column[0] for column in result.description or ()]
    return [
        {
            column: printable(value) if isinstance(value, str) else value
            for column, value in zip(columns, row, strict=True)
        }
        for row in result.fetchall()
    ]


def by_dataset(found: list[Row]) -> list[tuple[str, list[Row]]]:
    """Rows in the order they have, a part for each dataset."""
    names = dict.fromkeys(row["dataset"] for row in found)
    return [(name, [row for row in found if row["dataset"] == name]) for name in names]


def cell(ours: object, published: object = None, reached: bool | None = None, best: bool = False) -> Text:
    """A cell: ours, green or red where the paper says what to reach, and the published figure below it."""
    style = {None: "", True: "green", False: "red"}[reached]
    text = Text("–" if ours is None else str(ours), style=f"bold {style}" if best else style)
    return text if published is None else text.append(f"\n{published}", style="not bold dim default")


def table_2(found: list[Row]) -> Table:
    """Statistics down, datasets across, as printed."""
    parts = by_dataset(found)
    table = Table(title="Table 2. Datasets", caption="below ours: published" if published(found) else None)
    table.add_column("")
    for name, _ in parts:
        table.add_column(Text(name), justify="right")
    for position, statistic in enumerate(dict.fromkeys(row["statistic"] for row in found)):
        across = [part[position] for _, part in parts]
        table.add_row(
            Text(statistic),
            *(
                cell(
                    f"{row['value']:,}",
                    None if row["published"] is None else f"{row['published']:,}",
                    row["agrees"],
                )
                for row in across
            ),
        )
    return table


def published(found: list[Row]) -> bool:
    """Whether any of the rows has a published figure beside it."""
    return any(value is not None for row in found for column, value in row.items() if "published" in column)


def table_3(dataset: str, found: list[Row]) -> Table:
    """Models down; MAR and HITS@10 of both interactions across; the best of each metric in bold."""
    caption = "mean ± std over seeds"
    if published(found):
        caption += "; below: published; green: within one published std of it, or better"
    table = Table(title=Text(f"Table 3. Link prediction, {dataset}"), caption=caption)
    for heading in ("Model", "Learned"):
        table.add_column(heading)
    for metric in ("MAR ↓", "HITS@10 ↑"):
        for interaction in ("concat", "bilinear"):
            table.add_column(f"{metric}\n{interaction}", justify="right")
    cells = [
        (metric, f"{metric}_{how}") for metric in ("mar", "hits_at_10") for how in ("concat", "bilinear")
    ]
    best = {
        metric: choose(
            row[f"{name}_mean"]
            for row in found
            for of, name in cells
            if of == metric and row[name] is not None
        )
        for metric, choose in (("mar", min), ("hits_at_10", max))
    }
    for row in found:
        table.add_row(
            Text(row["model"]),
            "yes" if row["learned_attention"] else "no",
            *(
                cell(
                    row[name],
                    row[f"{name}_published"],
                    row[f"{name}_reached"],
                    best=row[f"{name}_mean"] == best[metric],
                )
                for metric, name in cells
            ),
        )
    return table


def baselines(dataset: str, found: list[Row]) -> Table:
    """The predictors that learn nothing, the best first."""
    table = Table(title=Text(f"Predictors that learn nothing, {dataset}"))
    for heading in ("Predictor", "Relation"):
        table.add_column(heading)
    for heading in ("MAR ↓", "HITS@10 ↑", "MRR ↑"):
        table.add_column(heading, justify="right")
    for row in found:
        table.add_row(
            Text(row["baseline"].replace("_", " ")),
            Text(row["relation"] or ""),
            f"{row['mar']:.2f}",
            f"{row['hits_at_10']:.3f}",
            f"{row['mrr']:.3f}",
        )
    return table


def table_4(dataset: str, found: list[Row]) -> Table:
    """Relations down; AUC with the initial and final graph, for both priors and plain frequency, across."""
    caption = "mean ± std over seeds" + ("; below: published" if published(found) else "")
    table = Table(title=Text(f"Table 4. AUC (%) of the learned graph, {dataset}"), caption=caption)
    for heading in ("Association", "Interaction"):
        table.add_column(heading)
    cells = [
        f"{snapshot}_{of}" for snapshot in ("initial", "final") for of in ("uniform", "sparse", "frequency")
    ]
    for name in cells:
        table.add_column(name.replace("_", "\n"), justify="right")
    for row in found:
        values = [
            cell(None if row[name] is None else f"{row[name]:.0f}")
            if name.endswith("frequency")
            else cell(row[name], row[f"{name}_published"], row[f"{name}_reached"])
            for name in cells
        ]
        table.add_row(Text(row["relation"]), row["interaction"], *values)
    return table
