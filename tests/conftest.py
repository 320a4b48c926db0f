"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from pipeline.lake import Lake
from tests.whole_system import environment, run_module

LONG = 1200  # seconds, for a test that runs the whole system; pyproject.toml has the limit of all others
MARKED_FOLDERS = {"end_to_end": "end_to_end", "browser": "browser"}
# Figures take seconds to draw: what looks at a whole page of them is slow.
MARKED_FIXTURES = {
    "browser": "browser",
    "real_data": "real_data",
    "results_page": "slow",
    "forbidden_names": "slow",
}
# No example has a time limit: a busy machine is no failure, and every test ends by its own.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs: its folder or a fixture says so."""
    for item in items:
        folder = MARKED_FOLDERS.get(item.path.parent.name, "")
        fixtures = {MARKED_FIXTURES.get(name, "") for name in getattr(item, "fixturenames", ())}
        for name in {folder, *fixtures} - {""}:
            item.add_marker(name)
        if folder and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """The files of a home that holds nothing yet, in a folder whose name is hard on SQL and shells."""
    return Lake(tmp_path / "it's home")


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
    run_module("assets", "sample", environment=environment(home))
    (home / "first_run.txt").write_text(run_module("assets", environment=environment(home)))
    return home
