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
from pipeline.sources.gharchive.reading import (
    Reading,
    has_reading,
    load_reading,
    make_reading,
    readings_folder,
)
from tests.pipeline.sources.gharchive.making import modern

DAY, HOUR = date(2015, 1, 1), 3
FILE = HourFile(DAY, HOUR, "ok", bytes=1, md5="whatever")


@pytest.fixture
def hour_lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    path = raw_path(lake, DAY, HOUR)
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"\n".join(json.dumps(modern(n)).encode() for n in range(50))))
    return lake


def read(lake: Lake) -> Reading:
    return make_reading(lake, FILE, EventRules())


@pytest.mark.slow
def test_runs_that_make_the_same_reading_at_once_all_have_it(hour_lake):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        readings = list(pool.map(read, [hour_lake] * 12))
    assert {reading.counts.kept for reading in readings} == {50}
    assert readings[0] == load_reading(hour_lake, FILE, EventRules())
    assert list(readings_folder(hour_lake, DAY).iterdir()) == [readings[0].folder]


def test_a_broken_reading_is_replaced_and_one_under_other_rules_removed(hour_lake):
    first = read(hour_lake)
    whole = first.events.read_bytes()
    first.events.write_bytes(whole[:-1])
    assert load_reading(hour_lake, FILE, EventRules()) is None
    assert read(hour_lake).events.read_bytes() == whole
    other = make_reading(
        hour_lake, FILE, EventRules(associations=frozenset({"WatchEvent"}), communications=frozenset())
    )
    assert list(readings_folder(hour_lake, DAY).iterdir()) == [other.folder]


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"17",
        b'"note"',
        b"\xff",
        b'{"counts": {}}',
        b'{"counts": [], "damage": 1}',
    ],
)
def test_a_note_that_says_nothing_of_a_reading_is_as_none(hour_lake, note):
    first = read(hour_lake)
    whole = (first.folder / "reading.json").read_bytes()
    (first.folder / "reading.json").write_bytes(note)
    assert load_reading(hour_lake, FILE, EventRules()) is None
    assert not has_reading(hour_lake, FILE)
    assert (read(hour_lake).folder / "reading.json").read_bytes() == whole


@pytest.mark.parametrize("key", ["signature", "checksums", "counts", "damage", "damaged"])
@pytest.mark.parametrize("value", [None, 5, "odd", {}, ["odd"], {"odd": 1}])
def test_a_note_with_an_odd_or_missing_value_is_as_none_or_as_it_was(hour_lake, key, value):
    first = read(hour_lake)
    path = first.folder / "reading.json"
    note = json.loads(path.read_text())
    for odd in (note | {key: value}, {name: note[name] for name in note if name != key}):
        path.write_text(json.dumps(odd))
        reading = load_reading(hour_lake, FILE, EventRules())
        has_reading(hour_lake, FILE)
        assert reading is None or reading.counts == first.counts


def test_a_table_of_the_same_size_with_other_bytes_is_no_part_of_a_reading(hour_lake):
    first = read(hour_lake)
    for table in first.tables:
        whole = bytearray(table.read_bytes())
        whole[len(whole) // 2] ^= 1
        table.write_bytes(whole)
        assert load_reading(hour_lake, FILE, EventRules()) is None
        assert read(hour_lake) == first
