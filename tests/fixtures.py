"""What tests may ask for, and how Hypothesis runs them; `tests.conftest` hands it to whoever runs tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from pipeline.lake import Lake
from pipeline.locks import hold
from pipeline.settings import environment_lines
from pipeline.sources.sample import build
from tests.object_server import ObjectServer, running_object_server
from tests.whole_system import FEW_DAYS, PATIENCE, copy_world, environment, run_ldg

# Nobody who looks at the sample world needs a third seed, a second epoch or all its events: these cost more
# than all else. Of fewer events a step takes fewer, so that there are as many steps to learn by, and as few
# as half make somebody belong to the network.
SHORTER = {
    "LDG_SEEDS": "2",
    "LDG_EPOCHS": "1",
    "LDG_BATCH": "20",
    "LDG_GITHUB_START": "2014-12-31",
    "LDG_GITHUB_MIN_COMMUNICATIONS": "4",
    "LDG_SOCIAL_EVOLUTION_START": "2009-02-15",
}
# No example has a time limit: a busy machine is no failure, and every test ends by its own.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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
def of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is made once for all workers, under a lock."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def built_world(of_all_workers: Path) -> Path:
    """A home in which the sample world is built; nobody changes it."""
    home = of_all_workers / "built_world"
    with hold(home.with_suffix(".lock"), "the sample world is being built", "tests", patience=PATIENCE):
        build(home)
    return home


@pytest.fixture(scope="session")
def few_days_home(built_world: Path, of_all_workers: Path) -> Path:
    """A home in which one run made everything of a few days; nobody changes it."""
    home = of_all_workers / "few_days"
    with hold(home.with_suffix(".lock"), "a few days are being made", "tests", patience=PATIENCE):
        made = home.with_suffix(".made")  # what a worker left that failed is not
        if not made.exists():
            shutil.rmtree(home, ignore_errors=True)
            copy_world(built_world, home)
            run_ldg(environment=environment(home, **FEW_DAYS))
            made.touch()
    return home


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything was materialized on the sample world."""
    home = tmp_path_factory.mktemp("sample")
    run_ldg("sample", environment=environment(home))
    with (home / ".env").open("a") as settings:
        settings.write(environment_lines(SHORTER))
    (home / "first_run.txt").write_text(run_ldg(environment=environment(home)))
    return home


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """An S3-compatible server, one for all tests of a worker."""
    with running_object_server(tmp_path_factory.mktemp("objects") / "server.log") as server:
        yield server
