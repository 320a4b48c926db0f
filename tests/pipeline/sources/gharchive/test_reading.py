"""A reading is there whole or not at all, whoever else makes it."""

import gzip
import json
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.sources.gharchive.files import HourFile, raw_path
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import Reading, load_reading, make_reading, readings_folder
from tests.pipeline.sources.gharchive.making import modern

DAY, HOUR = date(2015, 1, 1), 3
FILE = HourFile(DAY, HOUR, "ok", bytes=1, md5="whatever")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    path = raw_path(lake, DAY, HOUR)
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"\n".join(json.dumps(modern(n)).encode() for n in range(50))))
    return lake


def made(lake: Lake) -> Reading:
    return make_reading(lake, FILE, EventRules())


def test_runs_that_make_the_same_reading_at_once_all_have_it(lake):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        readings = list(pool.map(made, [lake] * 12))
    assert {reading.counts.kept for reading in readings} == {50}
    assert readings[0] == load_reading(lake, FILE, EventRules())
    assert list(readings_folder(lake, DAY).iterdir()) == [readings[0].folder]


def test_a_broken_reading_is_replaced_and_one_under_other_rules_removed(lake):
    first = made(lake)
    whole = first.events.read_bytes()
    first.events.write_bytes(whole[:-1])
    assert load_reading(lake, FILE, EventRules()) is None
    assert made(lake).events.read_bytes() == whole
    other = make_reading(
        lake, FILE, EventRules(associations=frozenset({"WatchEvent"}), communications=frozenset())
    )
    assert list(readings_folder(lake, DAY).iterdir()) == [other.folder]
