"""Training curves, one row per model: MAR by epoch and loss terms by step."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from pipeline.names import MAR, TEST, VALIDATION
from pipeline.results.trained import TrainedVariant
from pipeline.schemas import LOSSES
from pipeline.show.figures.style import INK, Figure, interaction_colours, marks
from pipeline.show.labels import METRIC_TITLES
from pipeline.variants import variant_title

LOSS_TITLES = dict(
    zip((term.name for term in LOSSES), ("Loss: events", "Loss: non-events", "Loss: KL"), strict=True)
)
MARS = {"mar": VALIDATION, "test_mar": TEST}
POINTS_PER_CURVE = 100
WIDTH, HEIGHT = 165, 84


def curves_figure(trained: Sequence[TrainedVariant], relations: Sequence[str]) -> Figure:
    """Draw the mean over seeds as a line, with a band from the lowest to the highest seed."""
    # + Freq changes the ranking, not the training: its curves are those of its base model.
    shown = [one for one in trained if not uses_frequency(one, relations)] or list(trained)
    losses, mars = [], []
    for one in shown:
        curves = one.read("curves")
        model = variant_title(one.variant, relations)
        names = {"model": pl.lit(model), "interaction": pl.lit(one.interaction)}
        losses.append(loss_points(curves).with_columns(**names))
        mars.append(mar_points(curves).with_columns(**names))
    loss, mar = pl.concat(losses), pl.concat(mars)
    models = sorted(loss["model"].unique())
    interactions = sorted(loss["interaction"].unique())
    rows = [model_row(model, loss, mar, interactions) for model in models]
    measured = mar.filter(pl.col("split") == VALIDATION).sort("mean")  # empty without validation events
    best = measured.row(0, named=True) if measured.height else None
    lowest = (
        f" The lowest validation MAR is {best['mean']:.1f}, {best['model']} {best['interaction']}."
        if best
        else ""
    )
    return Figure(
        "training_curves",
        "Training curves",
        "MAR by epoch, and by training step the terms of each model's loss (events, non-events, KL), for "
        f"{len(shown)} trained variants: mean over seeds, with a band from the lowest to the highest "
        f"seed.{lowest}",
        alt.vconcat(*rows, spacing=16),
    )


def uses_frequency(trained: TrainedVariant, relations: Sequence[str]) -> bool:
    """Return whether a variant averages another one with training frequency (+ Freq)."""
    variant = trained.described(relations)
    return variant is not None and variant.frequency


def loss_points(curves: pl.DataFrame) -> pl.DataFrame:
    """Average each loss term over at most a hundred bins of steps; return mean and range over seeds."""
    steps = int(curves["step"].max() or 0) + 1  # ty: ignore[invalid-argument-type] - steps are integers
    width = max(1, -(-steps // POINTS_PER_CURVE))
    per_seed = (
        curves.unpivot(list(LOSS_TITLES), index=["seed", "step"], variable_name="term")
        .with_columns(step=pl.col("step") // width * width)
        .group_by("seed", "step", "term")
        .agg(pl.col("value").mean())
    )
    return over_seeds(per_seed, "step", "term")


def mar_points(curves: pl.DataFrame) -> pl.DataFrame:
    """Return validation and test MAR after each epoch: mean and range over seeds."""
    per_seed = (
        curves.unpivot(list(MARS), index=["seed", "epoch"], variable_name="split")
        .drop_nulls("value")
        .with_columns(pl.col("split").replace(MARS))
    )
    return over_seeds(per_seed, "epoch", "split")


def over_seeds(values: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Aggregate values over seeds: mean, lowest and highest."""
    return (
        values.group_by(*by)
        .agg(mean=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max())
        .sort(*by)
    )


def model_row(model: str, loss: pl.DataFrame, mar: pl.DataFrame, interactions: list[str]) -> alt.HConcatChart:
    """Draw the panels of one model: MAR, then each loss term that the model has."""
    colour = alt.Color(
        "interaction:N",
        title="Interaction",
        scale={"domain": interactions, "range": interaction_colours(interactions)},
        legend={"orient": "bottom", "direction": "horizontal"},
    )
    dash = alt.StrokeDash(
        "split:N",
        title="MAR on",
        scale={"domain": list(MARS.values()), "range": [[1, 0], [4, 3]]},
        legend={"orient": "bottom", "direction": "horizontal", "symbolStrokeColor": INK, "symbolSize": 500},
    )
    rows, panels = mar.filter(pl.col("model") == model), []
    if rows.height:
        panels.append(curve_panel(rows, "epoch:O", "Epoch", METRIC_TITLES[MAR.name], colour, dash))
    for term, title in LOSS_TITLES.items():
        rows = loss.filter(pl.col("model") == model, pl.col("term") == term).drop_nulls("mean")
        if (rows["mean"] != 0).any():  # the model has no term that is always 0
            panels.append(curve_panel(rows, "step:Q", "Step", title, colour))
    return alt.hconcat(*panels, spacing=22, title=model)


def curve_panel(
    rows: pl.DataFrame,
    x: str,
    x_title: str,
    title: str,
    colour: alt.Color,
    dash: alt.StrokeDash | None = None,
) -> alt.LayerChart:
    """Draw one quantity by step or epoch."""
    axis = alt.X(x, title=x_title, axis={"grid": False, "labelAngle": 0, "tickCount": 4})
    shared = [axis, colour] if dash is None else [axis, colour, dash, alt.Detail("split:N")]
    zoom = {"zero": False}
    value = alt.Y(
        "mean:Q", title=title, scale=zoom, axis={"tickCount": 4, "titlePadding": 6, "minExtent": 34}
    )
    band = marks(rows, alt.MarkDef("area", opacity=0.16, strokeOpacity=0)).encode(
        *shared, alt.Y("low:Q", title=title, scale=zoom), alt.Y2("high:Q")
    )
    line = marks(rows, alt.MarkDef("line", strokeWidth=1.8)).encode(*shared, value)
    # A line is invisible after a single epoch; points are not.
    points = marks(rows, alt.MarkDef("circle", size=26, opacity=1)).encode(axis, colour, value)
    return alt.LayerChart(
        layer=[band, line] if dash is None else [band, line, points], width=WIDTH, height=HEIGHT
    )
