"""What tests of reading hour files share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for the one file of each example."""
    return tmp_path_factory.mktemp("example")
