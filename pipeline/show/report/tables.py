"""The report's tables: the warehouse's views as HTML, every name escaped, best values marked."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import duckdb

Row = dict[str, Any]
CELLS = tuple((metric, how) for metric in ("mar", "hits_at_10") for how in ("concat", "bilinear"))
METRICS = {"mar": "MAR", "hits_at_10": "HITS@10"}
GRAPHS = tuple((snapshot, prior) for snapshot in ("initial", "final") for prior in ("uniform", "sparse"))


def rows_of(warehouse: duckdb.DuckDBPyConnection, query: str, *values: str) -> list[Row]:
    """The rows of a query as dictionaries."""
    result = warehouse.execute(query, list(values))
    columns = [column[0] for column in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def html_table(caption: str, head: str, body: Iterable[str], name: str) -> str:
    """A table that scrolls sideways on its own where the screen is narrow, reachable with the keyboard."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{escape(name)}">'
        f'<table><caption id="{escape(name)}">{caption}</caption><thead>{head}</thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def header(*titles: str, note: str = "") -> str:
    """A row of column titles, the first of them the rows' own."""
    return "<tr>" + "".join(f'<th scope="col">{title}</th>' for title in titles) + f"</tr>{note}"


def cell(
    text: str | None, published: str | None = None, *, best: bool = False, reached: bool | None = None
) -> str:
    """One value, the published one below it, marked when it is the best of its column."""
    if text is None:
        shown = '<span class="none" title="not trained">–</span>'
    else:
        shown = f'<strong class="best">{escape(text)}</strong>' if best else escape(text)
    if published is not None:
        mark = "" if reached is None else (" ✓" if reached else "")
        told = '<span class="visually-hidden"> reached</span>' if reached else ""
        shown += f'<span class="published">paper {escape(published)}{mark}{told}</span>'
    return f"<td>{shown}</td>"


def statistics_table(warehouse: duckdb.DuckDBPyConnection, titles: dict[str, str]) -> str:
    """Table 2: a row a statistic, a column a dataset, the published count beside each."""
    rows = rows_of(warehouse, "select * from table_2")
    statistics = list(dict.fromkeys(row["statistic"] for row in rows))
    found = {(row["dataset"], row["statistic"]): row for row in rows}
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    body = []
    for statistic in statistics:
        cells = ""
        for name in names:
            row = found[name, statistic]
            published = None if row["published"] is None else f"{row['published']:,}"
            cells += cell(f"{row['value']:,}", published, reached=row["agrees"])
        body.append(f'<tr><th scope="row">{escape(statistic.removeprefix("# "))}</th>{cells}</tr>')
    head = header("", *(escape(titles.get(name, name)) for name in names))
    return html_table("Table 2. Datasets", head, body, "table-2")


def prediction_table(warehouse: duckdb.DuckDBPyConnection, dataset: str, title: str) -> str:
    """Table 3 of one dataset: learned models, then what no learning gives, the best of each metric marked."""
    models = rows_of(warehouse, "select * from table_3 where dataset = ?", dataset)
    baselines = rows_of(
        warehouse,
        "select baseline, relation, mar, hits_at_10 from baselines where dataset = ? "
        "order by mar, baseline, relation",
        dataset,
    )
    if not models and not baselines:
        return ""
    better: dict[str, Callable[..., float]] = {"mar": min, "hits_at_10": max}
    best_model = {
        metric: best_of(
            better[metric], (row[f"{metric}_{how}_mean"] for row in models for how in ("concat", "bilinear"))
        )
        for metric in METRICS
    }
    best_baseline = {
        metric: best_of(better[metric], (row[metric] for row in baselines)) for metric in METRICS
    }
    body = []
    for row in models:
        cells = "".join(
            cell(
                row[f"{metric}_{how}"],
                row[f"{metric}_{how}_published"],
                best=row[f"{metric}_{how}_mean"] is not None
                and row[f"{metric}_{how}_mean"] == best_model[metric],
                reached=row[f"{metric}_{how}_reached"],
            )
            for metric, how in CELLS
        )
        learned = '<abbr title="attention is learned">learned</abbr>' if row["learned_attention"] else "–"
        body.append(f'<tr><th scope="row">{escape(row["model"])}</th><td>{learned}</td>{cells}</tr>')
    if baselines:
        body.append('<tr class="divider"><th scope="colgroup" colspan="6">No learning at all</th></tr>')
    for row in baselines:
        label = baseline_label(row["baseline"], row["relation"])
        cells = "".join(
            spanning(f"{row[metric]:.{1 if metric == 'mar' else 2}f}", row[metric] == best_baseline[metric])
            for metric in METRICS
        )
        body.append(f'<tr><th scope="row">{escape(label)}</th><td>–</td>{cells}</tr>')
    head = (
        '<tr><th scope="col" rowspan="2">Model</th><th scope="col" rowspan="2">Attention</th>'
        '<th scope="colgroup" colspan="2">MAR ↓</th><th scope="colgroup" colspan="2">HITS@10 ↑</th></tr>'
        '<tr><th scope="col">concat</th><th scope="col">bilinear</th>'
        '<th scope="col">concat</th><th scope="col">bilinear</th></tr>'
    )
    table = html_table(
        f"Table 3. Link prediction on {escape(title)}: mean ± std over seeds",
        head,
        body,
        f"table-3-{number_of(dataset)}",
    )
    return table + verdict(best_model, best_baseline, baselines)


def spanning(text: str, best: bool) -> str:
    """A value that holds for both interactions."""
    shown = f'<strong class="best">{escape(text)}</strong>' if best else escape(text)
    return f'<td colspan="2">{shown}</td>'


def verdict(
    model: dict[str, float | None], baseline: dict[str, float | None], baselines: Sequence[Row]
) -> str:
    """In a sentence whether learning beat counting."""
    if model["mar"] is None or baseline["mar"] is None:
        return ""
    best = min(baselines, key=lambda row: row["mar"])
    label = escape(baseline_label(best["baseline"], best["relation"]))
    if model["mar"] < baseline["mar"]:
        told = (
            f"The best learned model (MAR {model['mar']:.1f}) beats the best predictor that learns nothing, "
            f"{label} (MAR {baseline['mar']:.1f})."
        )
    else:
        told = (
            f"No learned model beats the best predictor that learns nothing: {label} has MAR "
            f"{baseline['mar']:.1f}, the best learned model {model['mar']:.1f}."
        )
    return f'<p class="verdict">{told}</p>'


def agreement_table(warehouse: duckdb.DuckDBPyConnection, titles: dict[str, str]) -> str:
    """Table 4: AUC of the learned graph with each known graph, the best relation of each dataset marked."""
    rows = rows_of(warehouse, "select * from table_4")
    if not rows:
        return ""
    body, group = [], None
    for row in rows:
        peers = [
            one
            for one in rows
            if (one["dataset"], one["interaction"]) == (row["dataset"], row["interaction"])
        ]
        if group != (group := (row["dataset"], row["interaction"])):
            told = f"{titles.get(row['dataset'], row['dataset'])}, {row['interaction']}"
            body.append(f'<tr class="divider"><th scope="colgroup" colspan="6">{escape(told)}</th></tr>')
        cells = ""
        for snapshot, prior in GRAPHS:
            name = f"{snapshot}_{prior}"
            published = row[f"{name}_published"]
            top = best_of(max, (one[f"{name}_mean"] for one in peers))
            cells += cell(
                row[name],
                None if published is None else str(published),
                best=row[f"{name}_mean"] is not None and row[f"{name}_mean"] == top and len(peers) > 1,
                reached=row[f"{name}_reached"],
            )
        frequency = row["final_communication_frequency"]
        counted = cell(None if frequency is None else f"{frequency:.0f}")
        body.append(f'<tr><th scope="row">{escape(row["relation"])}</th>{cells}{counted}</tr>')
    head = (
        '<tr><th scope="col" rowspan="2">Known graph</th><th scope="colgroup" colspan="2">with initial</th>'
        '<th scope="colgroup" colspan="2">with final</th>'
        '<th scope="col" rowspan="2">counting communications, with final</th></tr>'
        '<tr><th scope="col">uniform</th><th scope="col">sparse</th>'
        '<th scope="col">uniform</th><th scope="col">sparse</th></tr>'
    )
    return html_table(
        "Table 4. AUC (%) of the learned graph with known graphs; 50 is chance", head, body, "table-4"
    )


def left_out_note(warehouse: duckdb.DuckDBPyConnection) -> str:
    """Which stored results the tables leave out, and why; nothing when they leave out none."""
    rows = rows_of(warehouse, "select dataset, table_name, rows, reason from left_out order by all")
    if not rows:
        return ""
    items = "".join(
        f"<li>{escape(row['dataset'])}, {escape(row['table_name'])}: {row['rows']:,} rows, "
        f"{escape(row['reason'])}</li>"
        for row in rows
    )
    return f'<div class="note"><p>Not in these tables:</p><ul>{items}</ul></div>'


def baseline_label(baseline: str, relation: str | None) -> str:
    """A no-learn predictor as a person reads it."""
    words = baseline.replace("_", " ")
    return f"{words}: {relation}" if relation else words


def best_of(better: Callable[..., float], values: Iterable[float | None]) -> float | None:
    """The best value there is."""
    known = [value for value in values if value is not None]
    return better(known) if known else None


def number_of(dataset: str) -> str:
    """A dataset's name as part of an element's id, whatever characters it has."""
    return dataset.encode().hex()
