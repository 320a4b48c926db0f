"""Reliability of the forecast times: how often an event came, against the probability that was given."""

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
    """A panel per horizon, nodes and pairs in each; None where waiting times are not learned."""
    rows = read_result(lake, CALIBRATION.name, table)
    if rows is None:
        return None
    rows = rows.filter(pl.col("predictor") == HAZARD, pl.col("split") == TEST)
    if rows.is_empty():
        return None
    off = np.average((rows["predicted"] - rows["observed"]).abs(), weights=rows["forecasts"])
    return Figure(
        "reliability",
        "Forecast and observed share of events within a horizon",
        "Each point is a tenth of the scale of probabilities on the test period, its size the number of "
        "forecasts; on the diagonal they hold. "
        f"They are off by {off:.3f} on average.",
        alt.hconcat(*(horizon_panel(rows, horizon) for horizon in HORIZONS), spacing=24),
    )


def horizon_panel(rows: pl.DataFrame, horizon: str) -> alt.LayerChart | alt.FacetChart:
    """One horizon."""
    unit = {"domain": [0, 1]}
    place = (
        alt.X("predicted:Q", title="forecast probability", scale=unit),
        alt.Y("observed:Q", title="share that came", scale=unit),
    )
    colour = alt.Color("subject:N", title=None, scale={"domain": ["node", "pair"], "range": [BLUE, ORANGE]})
    shown = rows.filter(pl.col("horizon") == horizon).select("subject", "predicted", "observed", "forecasts")
    corners = pl.DataFrame({"predicted": [0.0, 1.0], "observed": [0.0, 1.0]})
    size = alt.Size("forecasts:Q", legend=None, scale={"type": "sqrt", "range": [15, 250]})
    return alt.layer(
        marks(corners, alt.MarkDef("line", color=FAINT)).encode(*place),
        marks(shown, alt.MarkDef("line", strokeWidth=1)).encode(*place, colour),
        marks(shown, alt.MarkDef("circle", opacity=0.9)).encode(*place, colour, size),
    ).properties(width=SIDE, height=SIDE, title=f"within {horizon}")
