"""Bar charts of baselines and learned models on the same test events."""

import altair as alt
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.names import MAR, PAPER_METRICS, TEST, baseline_label
from pipeline.results.stored import read_result
from pipeline.schemas import BASELINES, LINK_PREDICTION
from pipeline.show.figures.style import BLUE, INK, ORANGE, Figure, category_axis, marks
from pipeline.show.labels import METRIC_TITLES, NO_LEARNING
from pipeline.text import told_apart
from pipeline.variants import variant_title

LEARNED = "learned model (mean ± std over seeds)"
METRICS = [metric.name for metric in PAPER_METRICS]


def baseline_bars(lake: Lake, table: EventTable) -> Figure | None:
    """Draw MAR and HITS@10 of every predictor, best first; None before anything is measured."""
    rows = bar_rows(lake, table)
    if rows.is_empty():
        return None
    order = rows.sort("mar", "who")["who"].to_list()
    best = rows.sort("mar", "who").row(0, named=True)
    learned = rows.filter(pl.col("what") == LEARNED).sort("mar", "who")
    mar, beside = f"{best['mar']:.{MAR.decimals}f}", ""
    if learned.height and best["what"] == NO_LEARNING:
        mar, theirs = told_apart(best["mar"], learned["mar"][0], MAR.decimals)
        beside = f", the best learned model {learned['who'][0]} with MAR {theirs}"
    return Figure(
        "baselines",
        "No-learn baselines against learned models",
        f"MAR and HITS@10 on test communications. Best is {best['who']} "
        f"({best['what'].partition(' (')[0]}) with MAR {mar}{beside}.",
        alt.hconcat(
            *(metric_panel(rows, metric, order, metric == MAR.name) for metric in METRICS), spacing=24
        ),
    )


def bar_rows(lake: Lake, table: EventTable) -> pl.DataFrame:
    """Return a row per predictor: label `who`, kind `what` (learned or not), metrics and std over seeds."""
    numbers = [column for metric in METRICS for column in (metric, f"{metric}_std")]
    kinds = {"who": pl.String, "what": pl.String} | dict.fromkeys(numbers, pl.Float64)
    parts = [pl.DataFrame(schema=kinds)]
    link = read_result(lake, LINK_PREDICTION.name, table)
    if link is not None:
        means = (
            link.filter(pl.col("split") == TEST)
            .group_by("variant", "interaction")
            .agg(
                *(pl.col(metric).mean() for metric in METRICS),
                *(pl.col(metric).std().fill_null(0.0).alias(f"{metric}_std") for metric in METRICS),
            )
        )
        whos = [
            f"{variant_title(name, table.metadata['relations'])}, {how}"
            for name, how in means.select("variant", "interaction").iter_rows()
        ]
        parts.append(
            means.with_columns(who=pl.Series(whos, dtype=pl.String), what=pl.lit(LEARNED)).select(list(kinds))
        )
    baselines = read_result(lake, BASELINES.name, table)
    if baselines is not None:
        whos = [baseline_label(*row) for row in baselines.select("baseline", "relation").iter_rows()]
        parts.append(
            baselines.with_columns(
                who=pl.Series(whos, dtype=pl.String),
                what=pl.lit(NO_LEARNING),
                **{f"{metric}_std": pl.lit(0.0) for metric in METRICS},
            ).select(list(kinds))
        )
    return pl.concat(parts).sort("mar", "who")


def metric_panel(rows: pl.DataFrame, metric: str, order: list[str], labelled: bool) -> alt.LayerChart:
    """Draw one metric: a bar per predictor, labelled with its value."""
    rows = rows.with_columns(
        low=pl.max_horizontal(pl.col(metric) - pl.col(f"{metric}_std"), 0.0),
        high=pl.col(metric) + pl.col(f"{metric}_std"),
        text=pl.col(metric).map_elements(
            lambda value: f"{value:.1f}" if metric == MAR.name else f"{value:.3f}", pl.String
        ),
    )
    y = alt.Y(
        "who:N",
        sort=order,
        title=None,
        axis=category_axis(order, shown=labelled),
    )
    colour = alt.Color(
        "what:N",
        title=None,
        scale={"domain": [LEARNED, NO_LEARNING], "range": [BLUE, ORANGE]},
        legend={"orient": "bottom", "direction": "vertical", "labelLimit": 300},
    )
    bars = marks(rows, alt.MarkDef("bar", height=12, cornerRadiusEnd=2)).encode(
        y, alt.X(f"{metric}:Q", title=METRIC_TITLES[metric]), colour
    )
    spread = marks(rows, alt.MarkDef("rule", color=INK, strokeWidth=1.2)).encode(
        y, alt.X("low:Q"), alt.X2("high:Q")
    )
    values = marks(rows, alt.MarkDef("text", align="left", dx=6, fontSize=10.5, color=INK)).encode(
        y, alt.X("high:Q"), text="text:N"
    )
    return alt.LayerChart(layer=[bars, spread, values], width=290, height=alt.Step(21))
