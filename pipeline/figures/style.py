"""One look for every figure: colours that colour-blind readers tell apart, quiet axes, one typeface."""

from dataclasses import dataclass
from pathlib import Path

import altair as alt
import vl_convert

from pipeline.lake import replacing, write_text

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
INK, QUIET, FAINT = "#1f2933", "#5f6b7a", "#d9dee5"
# Okabe and Ito's colours, in the order in which they are handed out.
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
INTERACTION_COLOURS = {"bilinear": BLUE, "concat": RED}
PNG_SCALE = 2.0
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@dataclass(frozen=True)
class Figure:
    """A drawn figure: its chart, its title, and what a reader who cannot see it must be told."""

    name: str
    title: str
    description: str
    chart: alt.TopLevelMixin


def styled(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """The chart in the house style."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelColor": QUIET, "titleColor": INK}
    return (
        chart.configure(background="white", padding=14, font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            **text,
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            gridColor="#eef1f4",
            domainColor=FAINT,
            tickColor=FAINT,
        )
        .configure_legend(**text, labelFontSize=12, titleFontSize=11, titleFontWeight="normal", symbolSize=90)
        .configure_header(**text, labelFontSize=12, titleFontSize=12)
        .configure_title(font=FONT, color=INK, fontSize=13, fontWeight=600, anchor="start", offset=8)
    )


def save(figure: Figure, folder: Path) -> tuple[Path, Path]:
    """Write the figure as SVG (for papers and the report) and PNG (for the UI), each whole or not at all."""
    svg_path, png_path = folder / f"{figure.name}.svg", folder / f"{figure.name}.png"
    svg = vl_convert.vegalite_to_svg(styled(figure.chart).to_dict(), vl_version=VEGA_LITE)
    write_text(svg, svg_path)
    with replacing(png_path) as temporary:
        temporary.write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    return svg_path, png_path
