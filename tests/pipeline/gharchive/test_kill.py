"""A process killed at any moment of fetching, decoding or writing leaves nothing that a run does not mend."""

import multiprocessing
import random
import shutil
import time
from datetime import date, datetime
from pathlib import Path

import pytest

from pipeline.gharchive.day import read_day
from pipeline.gharchive.fetch import FetchSettings, fetch_day
from pipeline.gharchive.hours import file_name
from pipeline.gharchive.normalize import EventRules
from pipeline.lake import Lake
from tests.pipeline.gharchive.archive_server import Archive, serve
from tests.pipeline.gharchive.making import lines, modern, store

DAY = date(2020, 5, 5)
NOW = datetime(2021, 1, 1)
KILLS = 50
SEED = 20200505


def bring_in(base: str, home: Path) -> None:
    lake = Lake(home)
    fetch_day(DAY, lake, FetchSettings(base=base, connections=2, backoff=0.01), now=NOW)
    read_day(DAY, lake, EventRules())


def work_until_killed(base: str, home: Path) -> None:
    """Bring the day in again and again, from what is there and from nothing, until the process is killed."""
    while True:
        bring_in(base, home)
        shutil.rmtree(home, ignore_errors=True)


def tables(home: Path) -> dict[str, bytes]:
    lake = Lake(home)
    folders = (lake.github_events, lake.github_quarantine, lake.github_accounts)
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_fifty_kills_at_random_moments_leave_tables_that_one_run_completes(tmp_path):
    rng = random.Random(SEED)
    archive = Archive()
    for hour in range(24):
        events = [modern(hour * 200 + n, actor=f"a{n}") for n in range(220)]  # hours overlap: duplicates
        path = store(tmp_path / "source" / file_name(DAY, hour), lines(events) + b'{"id":"cut')
        archive.files[path.name] = path.read_bytes()
    server = serve(archive)
    bring_in(archive.url, tmp_path / "undisturbed")
    undisturbed = tables(tmp_path / "undisturbed")
    started = time.monotonic()
    bring_in(archive.url, tmp_path / "timed")
    once = time.monotonic() - started

    home = tmp_path / "home"
    processes = multiprocessing.get_context("forkserver")  # imports once, so that the work starts at once
    processes.set_forkserver_preload([__name__, "pipeline.gharchive.day", "pipeline.gharchive.fetch"])
    found = set()
    for kill in range(KILLS):
        process = processes.Process(target=work_until_killed, args=(archive.url, home))
        process.start()
        process.join(rng.uniform(0, 1.2 * once))
        assert process.is_alive()
        process.kill()
        process.join()
        found.add(len(tables(home)))
        if kill % 5 == 4:
            bring_in(archive.url, home)
            assert tables(home) == undisturbed, f"after kill {kill}"
    server.shutdown()
    server.server_close()
    assert len(found) > 3, "the kills came at too few different moments"
    left = [path for path in home.rglob(".*") if path.is_file()]
    assert left == []
