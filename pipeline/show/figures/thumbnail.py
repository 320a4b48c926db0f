"""A figure small enough for a dialog of the UI, and for the log of runs that keeps it."""

import re
from pathlib import Path

import vl_convert

WIDTH = 640  # pixels that a dialog has room for


def thumbnail(svg: Path) -> bytes:
    """The figure as PNG, no wider than a dialog."""
    text = svg.read_text(encoding="utf-8")
    width = re.search(r'<svg[^>]* width="([\d.]+)"', text)
    if width is None:
        raise ValueError(f"{svg} says no width: draw the figures again")
    return vl_convert.svg_to_png(text, scale=min(1.0, WIDTH / float(width[1])))
