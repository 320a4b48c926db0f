"""A figure fits a dialog of the UI."""

import struct
from pathlib import Path

import pytest

from pipeline.show.figures.thumbnail import WIDTH, thumbnail

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="100"><rect width="9" height="9"/></svg>'
)


@pytest.mark.parametrize(("width", "expected"), [(2_000, WIDTH), (300, 300)])
def test_a_wide_figure_is_made_narrower_and_a_narrow_one_stays(
    tmp_path: Path, width: int, expected: int
) -> None:
    (tmp_path / "figure.svg").write_text(SVG.format(width=width))
    png = thumbnail(tmp_path / "figure.svg")
    assert struct.unpack(">I", png[16:20]) == (expected,)
