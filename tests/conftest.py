"""How tests are run: with which marks, in which order and where. What they may ask for: `tests.fixtures`.

A process that only hands out tests to workers does not import that: it would keep a processor from them.
"""

import gc
import os
import shutil
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

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
# Which tests begin, by file, group or mark. A worker begins with one test and has a second one waiting: so
# the longest come first, one for each of three workers, then what is short enough to wait behind them.
ORDER = (
    *("test_fortnight", "sample", "test_postgres"),
    *("test_days", "test_services", "test_killed"),
    *("test_ui", "end_to_end", "browser", "slow"),
)
# Where files are in memory, and how much of it must be free, in bytes: a disk makes small files wait.
IN_MEMORY, ROOM = Path("/dev/shm"), 4 << 30
# What torch, polars and DuckDB ask for the number of their threads; DuckDB takes Slurm's word alone.
ONE_THREAD = ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "SLURM_CPUS_ON_NODE")


def pytest_configure(config: pytest.Config) -> None:
    """Every process of the tests has one thread: there are more processes than processors. Files of tests are
    in memory, unless TMPDIR says where they belong or there is no room. Imports make no garbage to look for.
    """
    gc.disable()
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None  # asked for anew
    if not hands_out(config):
        config.pluginmanager.register(import_module("tests.fixtures"))


def hands_out(config: pytest.Config) -> bool:
    """Whether this process leaves all tests to workers."""
    return config.getoption("dist", "no") != "no" and not config.getoption("collectonly")


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what was imported: it would look at all of it every time."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs: its folder or a fixture says so. The longest come first.

    The tests of a file share what they make, so one worker runs them; a test that runs the whole system is
    long enough to go wherever there is room.
    """
    for item in items:
        folder = MARKED_FOLDERS.get(item.path.parent.name, "")
        fixtures = {MARKED_FIXTURES.get(name, "") for name in getattr(item, "fixturenames", ())}
        for name in {folder, *fixtures} - {""}:
            item.add_marker(name)
        if folder and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG))
        if folder != "end_to_end" and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))
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
