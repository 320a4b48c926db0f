"""What every test may ask for."""

import os
from pathlib import Path

import pytest

from tests.whole_system import environment, run_module


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real sample data, or a skip that says how to provide it."""
    folder = os.environ.get("LDG_REAL_DATA")
    if not folder:
        pytest.skip(
            "no real data: LDG_REAL_DATA names a folder with gharchive, github_2013, social_evolution"
        )
    return Path(folder)


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything was materialized on the sample world."""
    home = tmp_path_factory.mktemp("sample")
    run_module("pipeline.sources.sample", str(home), environment=environment(home))
    (home / "first_run.txt").write_text(run_module("assets", environment=environment(home)))
    return home
