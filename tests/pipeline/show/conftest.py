"""What several files of this folder look at."""

import shutil
from collections.abc import Generator
from typing import Any

import altair as alt
import pytest
import vl_convert

from pipeline.lake import Lake
from pipeline.show.figures import draw_figures
from tests.pipeline.show.drawn import DRAWN_VARIANTS, IN_A_DRAWING, IN_A_PAGE
from tests.small_world import store_results


@pytest.fixture(scope="session", autouse=True)
def charts_checked() -> Generator[None]:
    """What these tests draw says only what Vega-Lite knows; its renderer passes over a misspelled word."""
    draw = vl_convert.vegalite_to_svg

    def check_and_draw(spec: dict[str, Any], **options: Any) -> str:
        alt.Chart.from_dict(spec, validate=True)
        return draw(spec, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vl_convert, "vegalite_to_svg", check_and_draw)
        yield


@pytest.fixture(scope="session")
def hard_home(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home whose title and names are hard on pages and drawings; nobody changes it."""
    lake = Lake(tmp_path_factory.mktemp("hard"))
    names = (IN_A_PAGE, IN_A_DRAWING, "Zoë – 你好")
    store_results(lake, names=names, title=IN_A_PAGE, variants=DRAWN_VARIANTS, snapshots=3)
    return lake


@pytest.fixture(scope="session")
def drawn_home(hard_home: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same home, its figures drawn; nobody changes it."""
    lake = Lake(tmp_path_factory.mktemp("drawn") / "home")
    shutil.copytree(hard_home.home, lake.home)
    draw_figures(lake, "toy")
    return lake
