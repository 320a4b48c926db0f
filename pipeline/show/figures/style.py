"""Shared style of all figures: colours distinguishable by colour-blind readers, plain axes, one typeface."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from altair.utils import schemapi

from pipeline.lake import replacing, write_text
from pipeline.text import printable, printable_document
from pipeline.variant_names import BILINEAR, CONCAT

# Altair's validation takes as long as drawing, and the renderer rejects invalid charts anyway.
schemapi.disable_debug_mode()

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
INK, QUIET, FAINT = "#1f2933", "#5f6b7a", "#d9dee5"
# Okabe and Ito's colours, in order of use.
BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#c8b400",
)
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
INTERACTION_COLOURS = {BILINEAR: BLUE, CONCAT: RED}
PNG_SCALE = 2.0
LABEL_SIZE = 11
WIDEST_LETTER = 0.62  # mean width of a letter, in font sizes, of DejaVu Sans: wider than any of `FONT`
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


TEXT = {"labelFont": FONT, "titleFont": FONT, "labelColor": QUIET, "titleColor": INK}
CONFIG = {
    "background": "white",
    "padding": 14,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        **TEXT,
        "labelFontSize": LABEL_SIZE,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "gridColor": "#eef1f4",
        "domainColor": FAINT,
        "tickColor": FAINT,
    },
    "legend": {
        **TEXT,
        "labelFontSize": 12,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "symbolSize": 90,
        "symbolOpacity": 1,
    },
    "title": {"font": FONT, "color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 8},
}


@dataclass(frozen=True)
class Figure:
    """A figure: its chart, its title, and a description for readers who cannot see it."""

    name: str
    title: str
    description: str
    chart: alt.TopLevelMixin


def marks(rows: pl.DataFrame, mark: alt.MarkDef) -> alt.Chart:
    """Return a chart of `rows` drawn as `mark`; encodings must name their types.

    Rows are passed as JSON text because Altair copies lists of values, row by row, when charts are combined.
    Axes, scales and legends are dicts because Altair's own classes also carry all unset options.
    """
    texts = (column for column in rows.get_columns() if column.dtype == pl.String)
    shown = rows.with_columns(
        pl.Series(column.name, [text and printable(text) for text in column], pl.String) for column in texts
    )
    data = alt.InlineData(values=shown.write_json(), format=alt.JsonDataFormat(type="json"))
    return alt.Chart(data, mark=mark)


def category_axis(labels: Iterable[str], *, shown: bool) -> dict[str, Any]:
    """Return an axis for a list of names, with room for the longest in any of the reader's typefaces.

    The renderer measures text in one typeface; in a wider one the longest name would be cut off.
    """
    room = LABEL_SIZE * WIDEST_LETTER * max((len(label) for label in labels), default=0) if shown else 0
    return {
        "labels": shown,
        "ticks": False,
        "domain": False,
        "labelLimit": 0,
        "labelColor": INK,
        "minExtent": room,
    }


def interaction_colours(interactions: Sequence[str]) -> list[str]:
    """Return a colour per interaction: the paper's have fixed ones, others take the remaining ones."""
    left = iter(colour for colour in PALETTE if colour not in INTERACTION_COLOURS.values())
    return [INTERACTION_COLOURS.get(name) or next(left, QUIET) for name in interactions]


def renumbered(svg: str) -> str:
    """Renumber an SVG's clip paths from 0: Vega continues numbering from one drawing to the next."""
    numbers: dict[str, int] = {}
    return re.sub(
        r'((?:url\(#|id=")clip)(\d+)',
        lambda clip: f"{clip[1]}{numbers.setdefault(clip[2], len(numbers))}",
        svg,
    )


def drawable(spec: Any) -> Any:  # noqa: ANN401 - JSON is any value
    """Remove from a specification the characters at which the renderer aborts the process."""
    match spec:
        case str():
            return printable_document(spec)
        case dict():
            return {key: drawable(value) for key, value in spec.items()}
        case list():
            return [drawable(value) for value in spec]
    return spec


def drawn(figure: Figure, heading: str = "") -> str:
    """Return the figure as SVG, below a heading if there is one; the same figure gives the same text."""
    spec = {**drawable(figure.chart.to_dict(validate=False)), "config": CONFIG}
    if heading:
        spec["title"] = {"text": printable(heading), "fontSize": 11, "fontWeight": "normal"}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return renumbered(svg)


def save_figure(figure: Figure, folder: Path, heading: str) -> tuple[Path, Path]:
    """Write the figure as SVG (for papers and the report) and PNG (for the UI), each atomically.

    `heading` names the data, so that a copied picture still does.
    """
    svg_path, png_path = folder / f"{figure.name}.svg", folder / f"{figure.name}.png"
    svg = drawn(figure, heading)
    write_text(svg, svg_path)
    with replacing(png_path) as temporary:
        temporary.write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    return svg_path, png_path
