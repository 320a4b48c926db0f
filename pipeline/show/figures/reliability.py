"""Reliability diagram of waiting-time forecasts: observed frequency against forecast probability."""

import altair as alt
import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.names import HAZARD, HORIZONS, TEST
from pipeline.results.stored import read_result
from pipeline.schemas import CALIBRATION
from pipeline.show.figures.style import BLUE, FAINT, ORANGE, Figure, marks

SIDE = 190


def reliability_diagram(lake: Lake, table: EventTable) -> Figure | None:
    """Draw a panel per horizon, with nodes and pairs; None if there is nothing to compare.

    A horizon with a constant observed share (all events or none occurred) has no panel. There is no figure
    without panels, or where waiting times are not learned.
    """
    rows = read_result(lake, CALIBRATION.name, table)
    if rows is None:
        return None
    rows = rows.filter(pl.col("predictor") == HAZARD, pl.col("split") == TEST)
    horizons = [name for name in HORIZONS if rows.filter(horizon=name)["observed"].n_unique() > 1]
    if not horizons:
        return None
    off = np.average((rows["predicted"] - rows["observed"]).abs(), weights=rows["forecasts"])
    return Figure(
        "reliability",
        "Forecast and observed share of events within a horizon",
        "Each point is a tenth of the scale of probabilities on the test period, its size the number of "
        "forecasts; on the diagonal they hold. "
        f"They are off by {off:.3f} on average.{left_out(rows, horizons)}",
        alt.hconcat(*(horizon_panel(rows.filter(horizon=name), name) for name in horizons), spacing=24),
    )


def left_out(rows: pl.DataFrame, horizons: list[str]) -> str:
    """Return a sentence per horizon that has forecasts but no panel."""
    return "".join(
        f" Within {name} {observed:.0%} came in every group: not drawn."
        for name in HORIZONS
        if name not in horizons and (observed := rows.filter(horizon=name)["observed"].max()) is not None
    )


def horizon_panel(rows: pl.DataFrame, horizon: str) -> alt.LayerChart | alt.FacetChart:
    """Draw one horizon, with both axes limited to the tenths that contain points."""
    shown = rows.select("subject", "predicted", "observed", "forecasts")
    values = shown.select(pl.concat_list("predicted", "observed").explode()).to_series().to_numpy()
    low, high = float(np.floor(values.min() * 10) / 10), float(np.ceil(values.max() * 10) / 10)
    unit = {"domain": [low, high]}
    place = (
        alt.X("predicted:Q", title="forecast probability", scale=unit),
        alt.Y("observed:Q", title="share that came", scale=unit),
    )
    colour = alt.Color("subject:N", title=None, scale={"domain": ["node", "pair"], "range": [BLUE, ORANGE]})
    corners = pl.DataFrame({"predicted": [low, high], "observed": [low, high]})
    size = alt.Size("forecasts:Q", legend=None, scale={"type": "sqrt", "range": [15, 250]})
    return alt.layer(
        marks(corners, alt.MarkDef("line", color=FAINT)).encode(*place),
        marks(shown, alt.MarkDef("line", strokeWidth=1)).encode(*place, colour),
        marks(shown, alt.MarkDef("circle", opacity=0.9)).encode(*place, colour, size),
    ).properties(width=SIDE, height=SIDE, title=f"within {horizon}")
