"""Bars of predictors that learn nothing against learned models, on the same test events."""

import altair as alt
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.results.trained import read_result, variant_label
from pipeline.show.figures.style import BLUE, INK, ORANGE, Figure, marks

LEARNED, NO_LEARN = "learned model (mean ± std over seeds)", "no learning"
METRICS = {"mar": "MAR (lower is better)", "hits_at_10": "HITS@10 (higher is better)"}


def baseline_bars(lake: Lake, table: EventTable) -> Figure | None:
    """MAR and HITS@10 of every predictor, best first; None when nothing has been measured yet."""
    rows = scores(lake, table)
    if rows.is_empty():
        return None
    order = rows.sort("mar", "who")["who"].to_list()
    best = rows.sort("mar", "who").row(0, named=True)
    learned = rows.filter(pl.col("what") == LEARNED).sort("mar", "who")
    beside = ""
    if learned.height and best["what"] == NO_LEARN:
        beside = f", the best learned model {learned['who'][0]} with MAR {learned['mar'][0]:.1f}"
    return Figure(
        "baselines",
        "No-learn baselines against learned models",
        f"MAR and HITS@10 on test communications. Best is {best['who']} "
        f"({best['what'].partition(' (')[0]}) with MAR {best['mar']:.1f}{beside}.",
        alt.hconcat(*(panel(rows, metric, order, metric == "mar") for metric in METRICS), spacing=24),
    )


def scores(lake: Lake, table: EventTable) -> pl.DataFrame:
    """One row a predictor: who, what (learned or not), each metric and its standard deviation over seeds."""
    kinds = {"who": pl.String, "what": pl.String} | dict.fromkeys(
        ("mar", "mar_std", "hits_at_10", "hits_at_10_std"), pl.Float64
    )
    parts = [pl.DataFrame(schema=kinds)]
    link = read_result(lake, "link_prediction", table)
    if link is not None:
        means = (
            link.filter(pl.col("split") == "test")
            .group_by("variant", "interaction")
            .agg(
                *(pl.col(metric).mean() for metric in METRICS),
                *(pl.col(metric).std().fill_null(0.0).alias(f"{metric}_std") for metric in METRICS),
            )
        )
        whos = [
            variant_label(f"{name}-{how}") for name, how in means.select("variant", "interaction").iter_rows()
        ]
        parts.append(
            means.with_columns(who=pl.Series(whos, dtype=pl.String), what=pl.lit(LEARNED)).select(list(kinds))
        )
    baselines = read_result(lake, "baselines", table)
    if baselines is not None:
        parts.append(
            baselines.with_columns(
                who=pl.concat_str(
                    pl.col("baseline").str.replace_all("_", " "),
                    pl.col("relation"),
                    separator=": ",
                    ignore_nulls=True,
                ),
                what=pl.lit(NO_LEARN),
                mar_std=pl.lit(0.0),
                hits_at_10_std=pl.lit(0.0),
            ).select(list(kinds))
        )
    return pl.concat(parts).sort("mar", "who")


def panel(rows: pl.DataFrame, metric: str, order: list[str], labelled: bool) -> alt.LayerChart:
    """One metric: a bar a predictor, its value written at its end."""
    rows = rows.with_columns(
        low=pl.max_horizontal(pl.col(metric) - pl.col(f"{metric}_std"), 0.0),
        high=pl.col(metric) + pl.col(f"{metric}_std"),
        text=pl.col(metric).map_elements(
            lambda value: f"{value:.1f}" if metric == "mar" else f"{value:.3f}", pl.String
        ),
    )
    y = alt.Y(
        "who:N",
        sort=order,
        title=None,
        axis=alt.Axis(labels=labelled, ticks=False, domain=False, labelLimit=260, labelColor=INK),
    )
    colour = alt.Color(
        "what:N",
        title=None,
        scale=alt.Scale(domain=[LEARNED, NO_LEARN], range=[BLUE, ORANGE]),
        legend=alt.Legend(orient="bottom", direction="horizontal", labelLimit=300),
    )
    bars = marks(rows, alt.MarkDef("bar", height=12, cornerRadiusEnd=2)).encode(
        y, alt.X(f"{metric}:Q", title=METRICS[metric]), colour
    )
    spread = marks(rows, alt.MarkDef("rule", color=INK, strokeWidth=1.2)).encode(
        y, alt.X("low:Q"), alt.X2("high:Q")
    )
    values = marks(rows, alt.MarkDef("text", align="left", dx=6, fontSize=10.5, color=INK)).encode(
        y, alt.X("high:Q"), text="text:N"
    )
    return alt.LayerChart(layer=[bars, spread, values], width=290, height=alt.Step(21))
