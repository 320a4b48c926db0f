"""What several files of this folder look at."""

import shutil

import pytest

from pipeline.lake import Lake
from pipeline.show.figures import draw_figures
from tests.pipeline.show.drawn import DRAWN_VARIANTS, IN_A_DRAWING, IN_A_PAGE
from tests.small_world import store_results


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
