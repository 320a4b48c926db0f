"""Dot plots of MAR by model with its spread over seeds, beside published values or baselines."""

import altair as alt
import polars as pl

from pipeline.names import FREQUENCY, MAR, ONLINE_RECENCY, RANDOM, baseline_label
from pipeline.show.figures.style import BLUE, ORANGE, QUIET, Figure, category_axis, marks
from pipeline.show.labels import METRIC_TITLES, NO_LEARNING
from pipeline.show.results_page.beyond_tables import associates_alone
from pipeline.show.results_page.claims import dyreps
from pipeline.show.results_page.measured import Measured
from pipeline.show.tables import Row
from pipeline.variants import PAPER_INTERACTIONS

OURS, PUBLISHED = "ours", "published"
# Colour, shape, and vertical offset in pixels, so that no series hides another.
SERIES = {OURS: (BLUE, "circle", 0), PUBLISHED: (ORANGE, "diamond", 7), NO_LEARNING: (QUIET, "square", 7)}
BASELINES = (RANDOM, FREQUENCY, ONLINE_RECENCY)

Point = tuple[str, str, str, float, float, float]  # model, interaction, series, mean, low, high
SCHEMA = {"model": pl.String, "interaction": pl.String, "series": pl.String} | dict.fromkeys(
    ("mean", "low", "high"), pl.Float64
)


def table_3_dots(data: Measured) -> Figure | None:
    """Draw every row of Table 3, ours and published, then the best-known baselines."""
    points = [
        point
        for row in data.printed_rows()
        for series, cell in ((OURS, "{}"), (PUBLISHED, "{}_published"))
        for point in points_of_row(row, series, cell)
    ]
    for baseline in BASELINES:
        points += constant_points(baseline_label(baseline), data.baseline(baseline))
    return dots_figure(f"{data.title}: MAR by model", points)


def association_dots(data: Measured) -> Figure | None:
    """Draw Fig. 8: DyRep by association graph, beside the graph's associates alone."""
    names = dyreps(data)
    points = []
    for row in data.table_3:
        if row["variant"] in names:
            points += points_of_row(row, OURS, "{}")
            points += constant_points(row["model"], associates_alone(data, row["model"]))
    return dots_figure(
        f"{data.title}: MAR of DyRep by association graph, and of its associates alone", points
    )


def points_of_row(row: Row, series: str, cell: str) -> list[Point]:
    """Return the points of both interactions of a Table 3 row: mean, and one std to either side."""
    points = []
    for how in PAPER_INTERACTIONS:
        name = cell.format(f"{MAR.name}_{how}")
        mean, std = row[f"{name}_mean"], row[f"{name}_std"] or 0.0
        if mean is not None:
            points.append((row["model"], how, series, mean, mean - std, mean + std))
    return points


def constant_points(label: str, value: float | None) -> list[Point]:
    """Return a baseline's points, which are the same for both interactions; empty if it has no value."""
    return (
        []
        if value is None
        else [(label, how, NO_LEARNING, value, value, value) for how in PAPER_INTERACTIONS]
    )


def dots_figure(title: str, points: list[Point]) -> Figure | None:
    """Draw concat and bilinear side by side on one scale; None without points."""
    if not points:
        return None
    frame = pl.DataFrame(points, schema=SCHEMA, orient="row")
    order = frame["model"].unique(maintain_order=True).to_list()
    series = [one for one in SERIES if one in set(frame["series"])]
    top = 1.05 * max(point[-1] for point in points)
    panels = [
        dots_panel(frame.filter(pl.col("interaction") == how), how, order, series, top)
        for how in PAPER_INTERACTIONS
    ]
    return Figure(
        "dots",
        title,
        f"{title}: mean and one standard deviation over seeds, {', '.join(series)}; concat on the left, "
        "bilinear on the right; lower is better.",
        alt.hconcat(*panels, spacing=24, title=title),
    )


def dots_panel(
    rows: pl.DataFrame, how: str, order: list[str], series: list[str], top: float
) -> alt.LayerChart:
    """Draw one interaction: a line per model, dots with whiskers."""
    axis = category_axis(order, shown=how == PAPER_INTERACTIONS[0])
    y = alt.Y("model:N", sort=order, scale={"domain": order}, title=None, axis=axis)
    scale = {"domain": [0, top], "nice": False}
    colours, shapes, offsets = zip(*(SERIES[one] for one in series), strict=True)
    legend = {"orient": "bottom", "direction": "horizontal", "labelLimit": 260}
    colour = alt.Color(
        "series:N", title=None, scale={"domain": series, "range": list(colours)}, legend=legend
    )
    shape = alt.Shape("series:N", title=None, scale={"domain": series, "range": list(shapes)}, legend=legend)
    layers: list[alt.Chart] = []
    for one, offset in zip(series, offsets, strict=True):
        part = rows.filter(pl.col("series") == one)
        whisker = marks(part, alt.MarkDef("rule", strokeWidth=1.4, yOffset=offset))
        layers.append(whisker.encode(y, alt.X("low:Q", scale=scale), alt.X2("high:Q"), colour))
        dot = marks(part, alt.MarkDef("point", filled=True, size=60, opacity=1, yOffset=offset))
        layers.append(
            dot.encode(y, alt.X("mean:Q", title=METRIC_TITLES[MAR.name], scale=scale), colour, shape)
        )
    return alt.LayerChart(layer=layers, width=290, height=alt.Step(30), title=how)
