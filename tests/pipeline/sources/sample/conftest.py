from pathlib import Path

import pytest

from pipeline.sources.sample import build


@pytest.fixture(scope="session")
def built_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the sample world is built."""
    home = tmp_path_factory.mktemp("built_world")
    build(home)
    return home
