"""What every test may ask for."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from pipeline.lake import Lake
from pipeline.locks import hold
from pipeline.settings import environment_lines
from pipeline.sources.sample import build
from tests.forked_workers import fork_workers
from tests.object_server import ObjectServer, running_object_server
from tests.whole_system import FEW_DAYS, PATIENCE, ROOT, copy_world, environment, run_ldg

LONG = 1200  # seconds, for a test that runs the whole system; pyproject.toml has the limit of all others
MARKED_FOLDERS = {"end_to_end": "end_to_end", "browser": "browser"}
# Figures take seconds to draw: what looks at all of them is slow.
MARKED_FIXTURES = {
    "browser": "browser",
    "real_data": "real_data",
    "drawn_home": "slow",
    "results_page": "slow",
    "forbidden_names": "slow",
}
# So do the imports of the process that others are forked from.
MARKED_GROUPS = {"forks": "slow"}
# Which tests begin, by file, group or mark. A worker begins with one test and has a second one waiting: so
# the longest come first, one for each of three workers, then what is short enough to wait behind them.
ORDER = (
    *("test_fortnight", "sample", "test_postgres"),
    *("test_days", "test_services", "test_killed"),
    *("forks", "test_ui", "end_to_end", "browser", "slow"),
)
# Where files are in memory, and how much of it must be free, in bytes: a disk makes small files wait.
IN_MEMORY, ROOM = Path("/dev/shm"), 4 << 30
# What torch, polars and DuckDB ask for the number of their threads; DuckDB takes Slurm's word alone.
ONE_THREAD = ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "SLURM_CPUS_ON_NODE")
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


def pytest_configure() -> None:
    """Every process of the tests has one thread: there are more processes than processors. Files of tests are
    in memory, unless TMPDIR says where they belong or there is no room. Imports make no garbage to look for.
    """
    gc.disable()
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None  # asked for anew


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Workers import what they need once for all of them; where coverage is measured, each for itself."""
    if not config.pluginmanager.has_plugin("_cov"):
        fork_workers()


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what was imported: it would look at all of it every time."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs: its folder, group or a fixture says so. The longest come first.

    The tests of a file share what they make, so one worker runs them; a test that runs the whole system is
    long enough to go wherever there is room.
    """
    for item in items:
        folder = MARKED_FOLDERS.get(item.path.parent.name, "")
        fixtures = {MARKED_FIXTURES.get(name, "") for name in getattr(item, "fixturenames", ())}
        groups = {MARKED_GROUPS.get(name, "") for name in groups_of(item)}
        for name in {folder, *fixtures, *groups} - {""}:
            item.add_marker(name)
        if folder and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG))
        if folder != "end_to_end" and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(ROOT))))
    places: dict[Path, int] = {}
    for item in items:
        places[item.path] = min(place(item), places.get(item.path, len(ORDER)))
    items.sort(key=lambda item: places[item.path])


def place(item: pytest.Item) -> int:
    """When a test's turn comes."""
    words = {item.path.stem, *groups_of(item), *(mark.name for mark in item.iter_markers())}
    return next((number for number, word in enumerate(ORDER) if word in words), len(ORDER))


def groups_of(item: pytest.Item) -> tuple[str, ...]:
    """The group whose tests one worker runs, if the test is of one."""
    group = item.get_closest_marker("xdist_group")
    return group.args if group else ()


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
