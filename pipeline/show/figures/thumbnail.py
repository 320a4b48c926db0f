"""Thumbnails of figures, small enough for a UI dialog and for the run log that stores them."""

import re
from pathlib import Path

import vl_convert

WIDTH = 640  # pixels available in a dialog


def thumbnail(svg: Path) -> bytes:
    """Render the SVG as PNG, no wider than a dialog; raise ValueError if the SVG has no width."""
    text = svg.read_text(encoding="utf-8")
    width = re.search(r'<svg[^>]* width="([\d.]+)"', text)
    if width is None:
        raise ValueError(f"{svg} says no width: draw the figures again")
    return vl_convert.svg_to_png(text, scale=min(1.0, WIDTH / float(width[1])))
