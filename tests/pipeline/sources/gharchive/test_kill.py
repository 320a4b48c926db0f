"""A process killed at any moment of fetching, decoding or writing leaves nothing that a run does not mend."""

import os
import random
import shutil
from datetime import date, datetime
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from tests.forks import FORKS
from tests.pipeline.sources.gharchive.archive_server import Archive, serving
from tests.pipeline.sources.gharchive.making import lines, modern, store

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


def count_files(home: Path) -> int:
    """How many files there are, while others come and go."""
    return sum(len(names) for _, _, names in os.walk(home))


@pytest.mark.slow
def test_fifty_kills_at_random_moments_leave_tables_that_one_run_completes(tmp_path):
    rng = random.Random(SEED)
    archive = Archive()
    for hour in range(24):
        events = [modern(hour * 200 + n, actor=f"a{n}") for n in range(220)]  # hours overlap: duplicates
        path = store(tmp_path / "source" / file_name(DAY, hour), lines(events) + b'{"id":"cut')
        archive.files[path.name] = path.read_bytes()
    with serving(archive):
        bring_in(archive.url, tmp_path / "undisturbed")
        undisturbed = tables(tmp_path / "undisturbed")
        most = count_files(tmp_path / "undisturbed")

        home = tmp_path / "home"
        for kill in range(KILLS):
            if kill % 2:
                shutil.rmtree(home, ignore_errors=True)
            process = FORKS.Process(target=work_until_killed, args=(archive.url, home))
            process.start()
            # Moments are told by what is there, not by a clock, so that they are as many on any machine.
            enough = rng.randrange(most)
            while count_files(home) < enough:
                assert process.is_alive()
                process.join(0.001)
            process.kill()
            process.join()
            if kill % 5 == 4:
                bring_in(archive.url, home)
                assert tables(home) == undisturbed, f"after kill {kill}"
    left = [path for path in home.rglob(".*") if path.is_file()]
    assert left == []
