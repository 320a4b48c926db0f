"""What every test may ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real sample data, or a skip that says how to provide it."""
    folder = os.environ.get("LDG_REAL_DATA")
    if not folder:
        pytest.skip(
            "no real data: LDG_REAL_DATA names a folder with gharchive, github_2013, social_evolution"
        )
    return Path(folder)
