import json
import shutil
from datetime import date, datetime
from itertools import permutations

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.schemas import GHARCHIVE_FILES
from pipeline.sources.gharchive.account import account_path
from pipeline.sources.gharchive.checks import failed_hours
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import read_alone, read_with_midnight
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day
from pipeline.sources.gharchive.files import raw_folder, raw_path
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.inflate import Limits
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import EVENT_SCHEMA, readings_folder
from pipeline.sources.gharchive.versions import version_of_days
from tests.pipeline.sources.gharchive.making import lines, modern, second, store

DAY = date(2020, 5, 5)
BEFORE = date(2020, 5, 4)
NOW = datetime(2021, 1, 1)
HOURS = [0, 1, 3, 4, 5, 9, 23]
WITH_MEMBER = EventRules(associations=frozenset({"FollowEvent", "MemberEvent"}))


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A folder of hour files that tests fill, in days that have no hours but those that tests speak of."""
    for module in ("fetch", "day"):
        monkeypatch.setattr(f"pipeline.sources.gharchive.{module}.hours_of_day", lambda day: HOURS)
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def whole_days(source, monkeypatch):
    """Days have all their hours."""
    monkeypatch.undo()


def put(source, hour, events, day=DAY, more=b""):
    store(source / file_name(day, hour), lines(events) + more)


def run(source, lake, day=DAY, rules=None, **more):
    fetch_day(day, lake, FetchSettings(base=str(source)), now=NOW)
    return read_day(day, lake, rules or EventRules(), **more)


def events_of(lake, day=DAY):
    return pl.read_parquet(lake.github_day(day) / "*.parquet", hive_partitioning=False)


def account_of(lake, day=DAY):
    return pl.read_parquet(account_path(lake, day), hive_partitioning=False)


def tables(lake):
    folders = (lake.github_events, lake.github_quarantine, lake.github_accounts)
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(lake.home)): path.read_bytes() for path in files}


def stamps(lake):
    return {
        path: path.stat().st_mtime_ns
        for path in lake.home.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


@pytest.mark.usefixtures("whole_days")
def test_a_day_is_accounted_hour_by_hour(source, lake):
    put(source, 0, [modern(1), modern(2, "GistEvent")])
    put(source, 1, [modern(3), modern(3), modern(4) | {"actor": {}}], more=b"{cut")
    (source / file_name(DAY, 2)).write_bytes(b"")
    account = run(source, lake)
    table = account_of(lake)
    assert dict(table.schema) == GHARCHIVE_FILES.types
    assert table["hour"].to_list() == list(range(24))
    assert table["file"][5] == "2020-05-05-5.json.gz"
    assert table["status"].to_list()[:4] == ["ok", "damaged", "failed", "missing"]
    assert table.select("events", "kept", "ignored", "duplicates", "quarantined").rows()[:3] == [
        (2, 1, 1, 0, 0),
        (4, 1, 0, 1, 2),
        (0, 0, 0, 0, 0),
    ]
    assert account.hours == {"ok": 1, "missing": 21, "damaged": 1, "failed": 1}
    assert account.events == account.kept + account.ignored + account.duplicates + account.quarantined
    assert not account.complete
    assert "2020-05-05-2.json.gz: failed: empty" in account.notes


@pytest.mark.usefixtures("whole_days")
def test_a_pacific_spring_day_has_23_hours(source, lake):
    put(source, 0, [second(created_at="2013-03-10T00:00:00-08:00")], day=date(2013, 3, 10))
    run(source, lake, date(2013, 3, 10))
    assert len(account_of(lake, date(2013, 3, 10))) == 23


def test_hours_not_fetched_yet_leave_the_day_incomplete(lake):
    account = read_day(DAY, lake, EventRules())
    assert account.hours["failed"] == 24
    assert not account.complete


def test_an_event_belongs_to_the_earliest_file_of_the_day_that_holds_it(source, lake):
    put(source, 3, [modern(1), modern(2), modern(5) | {"actor": {}}])
    put(source, 4, [modern(2), modern(3), modern(4, "GistEvent"), modern(5) | {"actor": {}}])
    put(source, 9, [modern(4, "GistEvent"), modern(1), modern(6)])
    account = run(source, lake)
    events = events_of(lake)
    assert events["event_id"].to_list() == ["1", "2", "3", "6"]
    assert [file.split("-")[-1] for file in events["file"]] == [
        "3.json.gz",
        "3.json.gz",
        "4.json.gz",
        "9.json.gz",
    ]
    assert (account.kept, account.ignored, account.duplicates, account.quarantined) == (4, 1, 4, 1)
    assert account.events == 10


def test_an_hour_that_arrives_late_takes_its_events_from_later_hours(source, lake, tmp_path):
    put(source, 4, [modern(2), modern(3)])
    run(source, lake)
    put(source, 3, [modern(1), modern(2)])
    account = run(source, lake)
    assert account.duplicates == 1
    at_once = Lake(tmp_path / "at once")
    run(source, at_once)
    assert tables(lake) == tables(at_once)


def test_a_replaced_hour_gives_events_back_to_later_hours_even_when_raw_files_are_gone(
    source, lake, tmp_path
):
    put(source, 3, [modern(1), modern(2)])
    put(source, 4, [modern(2), modern(3)])
    run(source, lake, keep_raw=False)
    put(source, 3, [modern(1), modern(9)])
    assert run(source, lake, keep_raw=False).duplicates == 0
    at_once = Lake(tmp_path / "at once")
    run(source, at_once)
    assert tables(lake) == tables(at_once)


def test_the_last_hour_of_the_day_before_is_consulted(source, lake):
    put(source, 23, [modern(1), modern(2)], day=BEFORE)
    put(source, 0, [modern(2), modern(3)])
    fetch_day(BEFORE, lake, FetchSettings(base=str(source)), now=NOW)
    account = run(source, lake)
    assert account.duplicates == 1
    assert events_of(lake)["event_id"].to_list() == ["3"]
    assert run(source, lake, BEFORE).kept == 2


NAMELESS = modern(1) | {"actor": {}}


@pytest.mark.parametrize(
    "events", [[NAMELESS, modern(1)], [modern(1), NAMELESS], [NAMELESS] * 2 + [modern(1)]]
)
def test_of_copies_in_one_hour_the_readable_one_is_kept(source, lake, events):
    put(source, 3, events, more=b"{cut")
    account = run(source, lake)
    assert events_of(lake)["actor"].to_list() == ["ann"]
    assert (account.kept, account.duplicates, account.quarantined) == (1, len(events) - 1, 1)


@pytest.mark.parametrize("order", list(permutations([3, 4, 9])))
def test_of_copies_in_several_hours_the_earliest_readable_one_is_kept_in_whatever_order_they_come(
    source, lake, order
):
    hours = {3: [NAMELESS, modern(2)], 4: [modern(3), modern(1)], 9: [modern(1), NAMELESS]}
    for hour in order:
        put(source, hour, hours[hour])
        account = run(source, lake)
        assert account.events == account.kept + account.ignored + account.duplicates + account.quarantined
    assert events_of(lake).select("event_id", "file").rows() == [
        ("2", file_name(DAY, 3)),
        ("3", file_name(DAY, 4)),
        ("1", file_name(DAY, 4)),
    ]
    duplicates = account_of(lake).filter(pl.col("duplicates") > 0)
    assert duplicates.select("hour", "duplicates").rows() == [(3, 1), (9, 2)]
    assert (account.kept, account.duplicates, account.quarantined) == (3, 3, 0)
    assert not list(lake.github_quarantine.rglob("*.parquet"))


def test_a_quarantined_copy_of_the_day_before_hides_nothing_and_is_then_a_duplicate(source, lake):
    put(source, 23, [NAMELESS, modern(2)], day=BEFORE)
    put(source, 0, [modern(1), modern(2)])
    assert run(source, lake, BEFORE).quarantined == 1  # nothing better is in the lake yet
    account = run(source, lake)
    assert (account.kept, account.duplicates) == (1, 1)
    assert events_of(lake)["event_id"].to_list() == ["1"]
    account = run(source, lake, BEFORE)
    assert (account.kept, account.duplicates, account.quarantined) == (1, 1, 0)


def test_copies_that_nobody_can_read_are_quarantined_once(source, lake):
    put(source, 23, [NAMELESS], day=BEFORE)
    put(source, 0, [NAMELESS])
    put(source, 1, [NAMELESS])
    assert run(source, lake, BEFORE).quarantined == 1
    account = run(source, lake)
    assert (account.duplicates, account.quarantined) == (2, 0)


def test_an_id_tells_a_spliced_copy_with_another_counterpart(source, lake):
    put(source, 3, [modern(1), modern(1, repo="cid/tool")])
    put(source, 4, [modern(1, repo="dan/tool")])
    account = run(source, lake)
    assert (account.kept, account.duplicates) == (1, 2)
    assert events_of(lake)["counterpart"].to_list() == ["bob"]


def test_without_an_id_a_spliced_event_does_not_take_the_place_of_the_one_it_began_as(source, lake):
    whole = second(owner="bob")
    spliced = whole | {"repository": second(owner="cid")["repository"]}
    put(source, 3, [spliced, whole, whole])
    run(source, lake)
    assert events_of(lake)["counterpart"].to_list() == ["cid", "bob"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table at all" * 99])
def test_an_account_or_a_part_that_cannot_be_read_is_written_anew(source, lake, content):
    put(source, 3, [modern(1), NAMELESS | {"id": "7"}])
    put(source, 4, [modern(1), modern(2), NAMELESS | {"id": "7"}, NAMELESS | {"id": "8"}])
    run(source, lake)
    written = tables(lake)
    for name in written:
        (lake.home / name).write_bytes(content)
    run(source, lake)
    assert tables(lake) == written


def test_events_without_ids_are_deduplicated_too(source, lake):
    put(source, 3, [second(), second()])
    put(source, 4, [second(), second(actor="cid")])
    account = run(source, lake)
    assert (account.kept, account.duplicates) == (2, 2)


def test_times_outside_the_hour_are_kept_and_turned_to_utc(source, lake):
    put(source, 3, [modern(1, created_at="2012-01-01T05:06:07Z"), second()])
    run(source, lake)
    assert events_of(lake)["created_at"].to_list() == [
        datetime(2012, 1, 1, 5, 6, 7),
        datetime(2013, 2, 15, 8, 0, 39),
    ]


def test_running_again_writes_nothing(source, lake):
    put(source, 3, [modern(1), modern(2)])
    put(source, 4, [modern(2), modern(3)], more=b"{cut")
    first = run(source, lake)
    before = stamps(lake)
    again = run(source, lake)
    assert stamps(lake) == before
    assert again.rate == 0.0
    assert (again.kept, again.duplicates, again.quarantined) == (
        first.kept,
        first.duplicates,
        first.quarantined,
    )


def test_a_new_hour_touches_only_what_changes(source, lake):
    put(source, 4, [modern(3)])
    run(source, lake)
    before = stamps(lake)
    put(source, 5, [modern(4)])
    run(source, lake)
    changed = {path.name for path, stamp in stamps(lake).items() if before.get(path) != stamp}
    assert "04.parquet" not in changed
    assert "05.parquet" in changed


def test_tables_are_the_same_byte_for_byte_in_any_lake(source, tmp_path):
    put(source, 3, [modern(n, actor=f"a{n}") for n in range(500)])
    put(source, 4, [modern(n, actor=f"a{n}") for n in range(400, 900)], more=b"{cut")
    lakes = [Lake(tmp_path / name) for name in ("one", "two")]
    for lake in lakes:
        run(source, lake)
    assert tables(lakes[0]) == tables(lakes[1])


def test_raw_files_can_be_dropped_once_read(source, lake):
    put(source, 3, [modern(1), modern(2)])
    run(source, lake)
    whole = tables(lake)
    assert raw_path(lake, DAY, 3).exists()
    run(source, lake, keep_raw=False)
    assert not list(raw_folder(lake, DAY).glob("*.json.gz"))
    assert tables(lake) == whole
    before = stamps(lake)
    run(source, lake, keep_raw=False)
    assert stamps(lake) == before  # neither fetched nor read again


def test_other_rules_fetch_a_dropped_file_again(source, lake):
    put(source, 3, [modern(1), modern(2, "MemberEvent", payload={"member": {"login": "cid"}})])
    assert run(source, lake, keep_raw=False).kept == 1
    account = read_day(DAY, lake, WITH_MEMBER, keep_raw=False)
    assert account.hours["failed"] == 1
    assert not account.complete
    assert any("fetch the day again" in note for note in account.notes)
    account = run(source, lake, rules=WITH_MEMBER, keep_raw=False)
    assert account.complete
    assert account.kept == 2


def test_a_day_whose_hours_are_gone_stays_as_it_was_read_until_they_are_fetched_again(source, lake):
    put(source, 3, [modern(1), modern(2)])
    run(source, lake, keep_raw=False)
    before = tables(lake)
    shutil.rmtree(readings_folder(lake, DAY))
    account = read_alone(lake, DAY, EventRules(), False, "a test", None)
    assert account.gone == ((DAY, 3),)
    assert (account.kept, account.hours["failed"], account.complete) == (2, 1, False)
    assert any("fetch it again" in note for note in account.notes)
    assert {path: data for path, data in tables(lake).items() if not path.endswith(".gone")} == before
    assert failed_hours(lake) == [file_name(DAY, 3)], "named until the day is read"
    fetch_day(DAY, lake, FetchSettings(base=str(source)), now=NOW)
    account = read_alone(lake, DAY, EventRules(), False, "a test", None)
    assert not account.gone
    assert failed_hours(lake) == []
    assert tables(lake) == before


def test_a_day_is_not_read_again_without_the_hour_before_it_whose_copies_it_has(source, lake):
    put(source, 23, [modern(1)], BEFORE)
    put(source, 0, [modern(1), modern(2)])
    for day in (BEFORE, DAY):
        run(source, lake, day, keep_raw=False)
    shutil.rmtree(readings_folder(lake, BEFORE))
    account = read_alone(lake, DAY, EventRules(), False, "a test", None)
    assert account.gone == ((BEFORE, 23),)
    assert (account.kept, account.duplicates) == (1, 1)
    fetching = FetchSettings(base=str(source))
    account = read_with_midnight(lake, DAY, EventRules(), False, "a test", fetching, NOW, None)
    assert (account.gone, account.kept, account.duplicates) == ((), 1, 1)


def test_an_account_that_cannot_be_read_is_made_anew_though_the_day_before_is_gone(source, lake):
    put(source, 23, [modern(1)], BEFORE)
    put(source, 0, [modern(2)])
    for day in (BEFORE, DAY):
        run(source, lake, day, keep_raw=False)
    shutil.rmtree(readings_folder(lake, BEFORE))
    account_path(lake, DAY).write_bytes(b"damaged")
    assert read_alone(lake, DAY, EventRules(), False, "a test", None).kept == 1
    assert account_of(lake)["kept"].sum() == 1


def test_other_rules_read_a_kept_file_again(source, lake):
    put(source, 3, [modern(1), modern(2, "MemberEvent", payload={"member": "cid"})])
    assert run(source, lake).kept == 1
    assert run(source, lake, rules=WITH_MEMBER).kept == 2
    assert events_of(lake)["kind"].to_list() == ["communication", "association"]


def test_a_file_put_into_the_lake_by_hand_is_read(lake):
    store(raw_path(lake, DAY, 3), lines([modern(1)]))
    account = read_day(DAY, lake, EventRules())
    assert account.kept == 1
    assert account.hours["failed"] == 23


def test_a_bomb_is_damaged_and_told(source, lake):
    store(source / file_name(DAY, 3), lines([modern(1)]) + b"\n" * 3_000_000)
    account = run(source, lake, limits=Limits(inflated_bytes=1_000_000))
    assert account.hours["damaged"] == 1
    assert any("more than the limit" in note for note in account.notes)


def test_left_over_temporary_files_of_dead_processes_are_removed(source, lake):
    put(source, 3, [modern(1)])
    run(source, lake)
    left = lake.github_day(DAY) / ".03.parquet.4194999.tmp"
    left.write_bytes(b"half")
    run(source, lake)
    assert not left.exists()


@pytest.mark.usefixtures("whole_days")
def test_every_hour_of_a_day_reports_progress(source, lake):
    put(source, 3, [modern(1)])
    lines = []
    fetch_day(DAY, lake, FetchSettings(base=str(source)), log=lines.append, now=NOW)
    read_day(DAY, lake, EventRules(), log=lines.append)
    assert any("24/24 hours" in text and "/s" in text for text in lines)
    assert "2020-05-05-4.json.gz: missing: not in the folder" in lines


def test_quarantine_tells_file_offset_reason_and_excerpt(source, lake):
    good = lines([modern(1)])
    put(source, 3, [modern(1)], more=b'{"id":"2","type":"Pu')
    run(source, lake)
    rows = pl.read_parquet(lake.github_quarantine / "date=2020-05-05" / "*.parquet", hive_partitioning=False)
    assert rows.to_dicts() == [
        {
            "file": "2020-05-05-3.json.gz",
            "offset": len(good),
            "reason": "cut event",
            "bytes": 20,
            "excerpt": '{"id":"2","type":"Pu',
        }
    ]


def test_no_quarantine_file_means_that_nothing_was_quarantined(source, lake):
    folder = lake.github_quarantine / "date=2020-05-05"
    nameless = modern(9) | {"actor": {}}
    put(source, 3, [modern(1)])
    put(source, 4, [modern(2), nameless], more=b"{cut")
    put(source, 5, [nameless])
    assert run(source, lake).quarantined == 3 - 1
    assert [path.name for path in folder.iterdir()] == ["04.parquet"]  # the copy in hour 5 is a duplicate
    put(source, 4, [modern(2)])
    assert run(source, lake).quarantined == 1
    assert [path.name for path in folder.iterdir()] == ["05.parquet"]
    put(source, 5, [modern(3)])
    assert run(source, lake).quarantined == 0
    assert list(folder.iterdir()) == []
    assert not list(raw_folder(lake, DAY).glob("readings/*/quarantine.parquet"))


def test_parts_have_the_promised_columns_also_when_empty(source, lake):
    put(source, 3, [])
    put(source, 4, [modern(1)])
    run(source, lake)
    for part in sorted(lake.github_day(DAY).glob("*.parquet")):
        assert pl.read_parquet_schema(part) == EVENT_SCHEMA


def test_what_is_known_of_a_file_is_plain_json(source, lake):
    put(source, 3, [modern(1)])
    run(source, lake)
    note = json.loads((raw_folder(lake, DAY) / "2020-05-05-3.json.gz.known.json").read_text())
    assert note["status"] == "ok"
    assert note["md5"] == note["etag"]


def test_the_version_of_days_passes_over_an_account_that_cannot_be_read(source, lake):
    put(source, 3, [modern(1)])
    run(source, lake)
    as_read = version_of_days(lake, BEFORE, DAY)
    account_path(lake, DAY).write_bytes(b"torn")
    assert version_of_days(lake, BEFORE, DAY) == version_of_days(lake, BEFORE, BEFORE)
    run(source, lake)
    assert version_of_days(lake, BEFORE, DAY) == as_read
