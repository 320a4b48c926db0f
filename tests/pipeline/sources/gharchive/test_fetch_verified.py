"""A body becomes an hour only if it is gzip and whole, and a held hour gives way to nothing less."""

import base64
import gzip
import hashlib
import json
import os
import threading
from dataclasses import replace
from datetime import date, datetime
from itertools import product

import pytest

from pipeline.lake import Lake
from pipeline.sources.download import Part
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import fetch_days
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day, probe
from pipeline.sources.gharchive.files import (
    knowledge_path,
    load_knowledge,
    raw_folder,
    raw_path,
    smaller_path,
)
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from tests.forks import FORKING, FORKS
from tests.pipeline.sources.gharchive.archive_server import DAMAGES, PAGE, Archive, fast, serving
from tests.pipeline.sources.gharchive.making import lines, modern

DAY = date(2020, 5, 5)
NOW = datetime(2021, 1, 1)
NAME = file_name(DAY, 0)


def packed(count=80, first=0):
    events = [
        modern(first + n, actor=hashlib.md5(bytes([n % 251, first % 251])).hexdigest()) for n in range(count)
    ]
    return gzip.compress(lines(events), 6, mtime=0)


BODY = packed()
NEWER = packed(100, first=7)


@pytest.fixture(autouse=True)
def hours_of_a_day(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hours of a day: one, which the archive has; a test may add others."""
    hours_of_a_day = [0]
    for module in ("fetch", "day"):
        monkeypatch.setattr(f"pipeline.sources.gharchive.{module}.hours_of_day", lambda day: hours_of_a_day)
    return hours_of_a_day


@pytest.fixture
def hour_archive():
    with serving(Archive(files={NAME: BODY})) as archive:
        yield archive


def fetch(archive, lake, **more):
    """The first hour of the day."""
    return fetch_day(DAY, lake, fast(archive, **more), now=NOW)[0]


def note(lake):
    file = load_knowledge(lake, DAY, 0)
    assert file is not None
    return file


def raw(lake):
    return raw_path(lake, DAY, 0).read_bytes()


LOGINS = ["login", "packed login", "redirected login"]  # in place of the file: however that is tagged
BODIES = ["empty", "page as file", "page in gzip"]
LESS = [*BODIES, "cut", "flip", "empty gzip"]
TAGS = ["md5", "opaque", "none"]


@pytest.mark.parametrize(("fault", "tags"), [*product(LOGINS, ["md5"]), *product(BODIES, TAGS)])
def test_what_is_not_gzip_or_a_page_never_becomes_an_hour(hour_archive, lake, fault, tags):
    hour_archive.tags = tags
    hour_archive.files["login"] = PAGE
    hour_archive.always[NAME] = fault
    file = fetch(hour_archive, lake, attempts=2)
    assert file.status == "failed"
    assert any(word in file.reason for word in ("web page", "not gzip", "empty"))
    assert not raw_path(lake, DAY, 0).exists()
    assert not read_day(DAY, lake, EventRules()).complete
    hour_archive.always.clear()
    assert fetch(hour_archive, lake).status == "ok"
    assert raw(lake) == BODY


@pytest.mark.parametrize(("fault", "tags"), [*product(LOGINS, ["md5"]), *product(LESS, TAGS)])
def test_a_held_hour_is_replaced_by_nothing_less(hour_archive, lake, fault, tags):
    hour_archive.tags = tags
    keep_raw = tags == "opaque"
    hour_archive.files["login"] = PAGE
    fetch(hour_archive, lake)
    assert read_day(DAY, lake, EventRules(), keep_raw=keep_raw).kept == 80
    hour_archive.always[NAME] = fault
    lines = []
    file = fetch_day(DAY, lake, fast(hour_archive, attempts=3), now=NOW, log=lines.append)[0]
    assert file.status == "ok"
    assert any(text.startswith(f"{NAME}: kept as it was: ") for text in lines)
    assert read_day(DAY, lake, EventRules(), keep_raw=keep_raw).kept == 80
    assert raw_path(lake, DAY, 0).exists() is keep_raw
    hour_archive.always.clear()
    hour_archive.files[NAME] = NEWER
    assert fetch(hour_archive, lake).status == "ok"
    assert read_day(DAY, lake, EventRules(), keep_raw=keep_raw).kept == 100


@pytest.mark.parametrize("fault", LESS)
def test_a_folder_replaces_a_held_hour_by_nothing_less(lake, tmp_path, fault):
    (source := tmp_path / "source").mkdir()
    (source / NAME).write_bytes(BODY)
    settings = FetchSettings(base=str(source))
    fetch_day(DAY, lake, settings, now=NOW)
    (source / NAME).write_bytes(DAMAGES[fault](BODY, 1000))
    assert fetch_day(DAY, lake, settings, now=NOW)[0].status == "ok"
    assert raw(lake) == BODY
    assert read_day(DAY, lake, EventRules()).kept == 80


@pytest.mark.parametrize("keep_raw", [True, False], ids=["raw file", "reading"])
@pytest.mark.parametrize("events", [0, 1, 71])
def test_a_replacement_with_fewer_events_is_kept_aside_and_the_day_tells(
    hour_archive, lake, events, keep_raw
):
    fetch(hour_archive, lake)
    whole = read_day(DAY, lake, EventRules(), keep_raw=keep_raw)
    less = packed(events) if events else gzip.compress(b'{"message":"API rate limit exceeded"}')
    hour_archive.files[NAME] = less
    assert fetch(hour_archive, lake).status == "ok"
    account = read_day(DAY, lake, EventRules(), keep_raw=keep_raw)
    assert (account.kept, account.hours, account.complete) == (whole.kept, whole.hours, True)
    assert f"the file at the source has {events} events, and 80 are held" in account.notes[0]
    aside = smaller_path(lake, DAY, 0)
    assert aside.exists() is (events > 0)
    if events:
        assert str(aside.relative_to(lake.home)) in account.notes[0]
        assert aside.read_bytes() == less
    hour_archive.files[NAME] = packed(72)
    fetch(hour_archive, lake)
    account = read_day(DAY, lake, EventRules(), keep_raw=keep_raw)
    assert (account.kept, account.notes, aside.exists()) == (72, (), False)


def test_a_smaller_replacement_that_is_renamed_by_hand_becomes_the_hour(hour_archive, lake):
    fetch(hour_archive, lake)
    read_day(DAY, lake, EventRules(), keep_raw=False)
    hour_archive.files[NAME] = packed(40)
    fetch(hour_archive, lake)
    smaller_path(lake, DAY, 0).rename(raw_path(lake, DAY, 0))
    fetch(hour_archive, lake)
    account = read_day(DAY, lake, EventRules(), keep_raw=False)
    assert (account.kept, account.notes) == (40, ())


@pytest.mark.parametrize("tags", ["md5", "none"])
@pytest.mark.parametrize("text", [b"", b"\n \n", b"{}", lines([{"type": "PushEvent"}])], ids=repr)
def test_an_hour_without_events_is_damaged_until_one_with_events_comes(hour_archive, lake, text, tags):
    hour_archive.tags = tags
    hour_archive.files[NAME] = gzip.compress(text)
    assert fetch(hour_archive, lake).status == "ok"
    account = read_day(DAY, lake, EventRules())
    assert (account.hours["damaged"], account.complete) == (1, True)
    assert account.notes == (f"{NAME}: no event in it can be read",)
    hour_archive.files[NAME] = BODY
    fetch(hour_archive, lake)
    assert read_day(DAY, lake, EventRules()).hours == {"ok": 1, "missing": 0, "damaged": 0, "failed": 0}


@pytest.mark.parametrize("held", [False, True], ids=["nothing held", "held"])
@pytest.mark.parametrize("junk", [b"<html>out of order</html>\n\n", b"\0" * 100, b"\n\n"], ids=repr)
def test_junk_before_the_events_of_an_hour_costs_none_of_them(hour_archive, lake, junk, held):
    if held:
        fetch(hour_archive, lake)
    hour_archive.files[NAME] = gzip.compress(junk + gzip.decompress(BODY))
    fetch(hour_archive, lake, attempts=1)
    account = read_day(DAY, lake, EventRules())
    assert (account.kept, account.quarantined) == (80, int(bool(junk.strip())))
    assert raw(lake) == hour_archive.files[NAME]


def test_a_body_that_ends_between_members_and_tells_no_length_is_taken_only_if_it_comes_twice(
    hour_archive, lake
):
    hour_archive.tags = "none"
    hour_archive.files[NAME] = BODY + NEWER
    hour_archive.faults[NAME] = ["no length first member"]
    assert fetch(hour_archive, lake).status == "ok"
    assert raw(lake) == BODY + NEWER
    hour_archive.always[NAME] = "no length"
    other = Lake(lake.home / "other")
    assert fetch(hour_archive, other).status == "ok"
    assert raw(other) == BODY + NEWER


def test_a_folder_without_anything_held_gives_only_gzip(lake, tmp_path):
    (source := tmp_path / "source").mkdir()
    (source / NAME).write_bytes(PAGE)
    file = fetch_day(DAY, lake, FetchSettings(base=str(source)), now=NOW)[0]
    assert (file.status, file.reason) == ("failed", f"not gzip: it begins with {PAGE[:40]!r}")


@pytest.mark.parametrize("tags", ["md5", "opaque", "none"])
def test_an_hour_that_is_damaged_at_the_source_is_taken_until_a_whole_one_comes(hour_archive, lake, tags):
    hour_archive.tags = tags
    hour_archive.files[NAME] = BODY[: len(BODY) // 2]
    assert fetch(hour_archive, lake).status == "ok"
    assert read_day(DAY, lake, EventRules()).hours["damaged"] == 1
    hour_archive.files[NAME] = BODY
    fetch(hour_archive, lake)
    assert raw(lake) == BODY
    assert read_day(DAY, lake, EventRules()).hours["damaged"] == 0


def test_an_hour_damaged_on_the_way_is_asked_for_again(hour_archive, lake):
    hour_archive.tags = "opaque"
    hour_archive.faults[NAME] = ["cut", "flip", "no length cut"]
    assert fetch(hour_archive, lake).status == "ok"
    assert raw(lake) == BODY


@pytest.mark.parametrize("form", ["Content-MD5", "x-goog-hash"])
def test_every_md5_a_server_gives_is_compared(hour_archive, lake, form):
    hour_archive.tags = "none"
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    right = base64.b64encode(hashlib.md5(BODY).digest()).decode()
    values = {"Content-MD5": "{}", "x-goog-hash": "crc32c=AAAAAA==, md5={}"}
    hour_archive.more_headers = {form: values[form].format(wrong)}
    assert "is not what its headers say" in fetch(hour_archive, lake, attempts=2).reason
    hour_archive.more_headers = {form: values[form].format(right)}
    assert fetch(hour_archive, lake).status == "ok"


def test_an_hour_of_several_members_is_whole(hour_archive, lake):
    hour_archive.tags = "none"
    hour_archive.files[NAME] = BODY + NEWER + b"\0" * 512
    assert fetch(hour_archive, lake, attempts=1).status == "ok"


def test_a_part_shorter_than_its_own_total_is_gone_on_with(hour_archive, lake):
    hour_archive.tags = "opaque"
    hour_archive.faults[NAME] = ["short", "short range", "short range"]
    assert fetch(hour_archive, lake).status == "ok"
    assert [code for _, code in hour_archive.requests_for(NAME)] == [200, 206, 206, 206]
    assert raw(lake) == BODY
    hour_archive.faults[NAME] = ["short", "short range"]
    hour_archive.files[NAME] = NEWER
    fetch(hour_archive, lake, attempts=2)
    assert raw(lake) == BODY


@pytest.mark.parametrize("tags", ["md5", "opaque"])
def test_the_rest_of_another_file_is_not_joined_on(hour_archive, lake, tags):
    hour_archive.tags = tags
    hour_archive.faults[NAME] = ["short"]
    assert fetch(hour_archive, lake, attempts=1).status == "failed"
    hour_archive.files[NAME] = NEWER
    hour_archive.faults[NAME] = ["splice"]
    assert fetch(hour_archive, lake).status == "ok"
    assert raw(lake) == NEWER
    assert "If-Range" in hour_archive.requests_for(NAME)[1][0]


def test_a_total_that_changed_ends_the_resuming(hour_archive, lake):
    hour_archive.faults[NAME] = ["short", "wrong total"]
    assert fetch(hour_archive, lake).status == "ok"
    assert [code for _, code in hour_archive.requests_for(NAME)] == [200, 206, 200]


def test_a_part_from_another_address_is_not_resumed(hour_archive, lake):
    hour_archive.faults[NAME] = ["short"]
    fetch(hour_archive, lake, attempts=1)
    with serving(Archive(files={NAME: BODY})) as mirror:
        assert fetch(mirror, lake).status == "ok"
    assert "Range" not in mirror.requests_for(NAME)[0][0]


@pytest.mark.parametrize(
    "note", [b"", b"{}", b"[1]", b'{"etag": 1}', b'{"address": [], "etag": "x", "total": "y"}']
)
def test_a_part_whose_note_is_damaged_is_begun_anew(hour_archive, lake, note):
    hour_archive.faults[NAME] = ["short"]
    fetch(hour_archive, lake, attempts=1)
    part = Part(raw_path(lake, DAY, 0)).path
    part.with_name(f"{part.name}.json").write_bytes(note)
    assert fetch(hour_archive, lake).status == "ok"
    assert raw(lake) == BODY
    assert not list(raw_folder(lake, DAY).glob(".*"))


def test_a_part_left_behind_is_removed_when_the_hour_is_held(hour_archive, lake):
    fetch(hour_archive, lake)
    Part(raw_path(lake, DAY, 0)).path.write_bytes(b"left by a process that was killed")
    fetch(hour_archive, lake)
    assert not list(raw_folder(lake, DAY).glob(".*"))


@pytest.mark.parametrize("fault", ["huge length", "odd length", "negative length"])
def test_an_absurd_length_is_refused(hour_archive, lake, fault):
    hour_archive.always[NAME] = fault
    file = fetch(hour_archive, lake, attempts=2)
    assert file.status == "failed"
    assert "refused" in file.reason or "not a number of bytes" in file.reason


def test_a_file_beyond_the_bound_is_refused_by_its_length(hour_archive, lake):
    file = fetch(hour_archive, lake, largest=len(BODY) - 1)
    assert (file.status, len(hour_archive.requests_for(NAME))) == ("failed", 1)
    assert f"at most {len(BODY) - 1:,}" in file.reason
    assert fetch(hour_archive, lake, largest=len(BODY)).status == "ok"


def test_a_body_without_end_is_cut_off_at_the_bound(hour_archive, lake):
    hour_archive.always[NAME] = "endless"
    file = fetch(hour_archive, lake, attempts=1, largest=3_000_000)
    assert "more than the 3,000,000 bytes" in file.reason
    assert not list(raw_folder(lake, DAY).glob(".*"))


@pytest.mark.parametrize("fault", ["slow headers", "slow chunks", "trickle"])
def test_the_deadline_of_a_try_covers_headers_and_body(hour_archive, lake, fault):
    hour_archive.always[NAME] = fault
    file = fetch(hour_archive, lake, attempts=1, attempt_timeout=0.6)
    assert file.reason == "TimeoutError: not done within 0.6 s"


def test_redirects_without_end_are_given_up(hour_archive, lake):
    hour_archive.always[NAME] = "redirects"
    assert "Exceeded 5 redirects" in fetch(hour_archive, lake, attempts=1).reason
    assert len(hour_archive.requests_for(NAME)) == 6


@pytest.mark.parametrize("fault", ["redirected login", "endless redirect"])
def test_a_redirect_to_the_file_is_followed_and_its_page_is_not_read(hour_archive, lake, fault):
    hour_archive.always[NAME] = fault
    hour_archive.files["login"] = BODY
    assert fetch(hour_archive, lake, attempts=1, attempt_timeout=5.0).status == "ok"


NOTES = {
    "empty": lambda note: b"",
    "no keys": lambda note: b"{}",
    "wrong types": lambda note: json.dumps(note | {"bytes": "many", "fetched_at": 7}).encode(),
    "no MD5": lambda note: json.dumps(note | {"md5": None}).encode(),
    "another hour's": lambda note: json.dumps(note | {"hour": 5}).encode(),
    "deep": lambda note: b"[" * 100_000,
    "not text": lambda note: b"\xff\xfe\0",
}


@pytest.mark.parametrize("form", NOTES)
def test_a_note_that_cannot_be_read_is_as_absent(hour_archive, lake, form):
    file = fetch(hour_archive, lake)
    path = knowledge_path(lake, DAY, 0)
    path.write_bytes(NOTES[form](json.loads(path.read_text())))
    assert note(lake).etag is None
    assert read_day(DAY, lake, EventRules()).kept == 80
    assert replace(fetch(hour_archive, lake), fetched_at=None) == replace(file, fetched_at=None)
    assert note(lake).etag == file.etag


def test_a_file_in_the_lake_that_is_not_gzip_is_fetched_again(hour_archive, lake):
    fetch(hour_archive, lake)
    raw_path(lake, DAY, 0).write_bytes(PAGE)
    assert not read_day(DAY, lake, EventRules()).complete
    fetch(hour_archive, lake)
    assert raw(lake) == BODY


def test_a_fetch_killed_before_its_note_leaves_no_wrong_md5(hour_archive, lake):
    fetch(hour_archive, lake)
    other = bytearray(BODY)
    other[4:8] = b"mtim"  # the same length, as gzip whole
    raw_path(lake, DAY, 0).write_bytes(bytes(other))
    after = knowledge_path(lake, DAY, 0).stat().st_mtime_ns + 1
    os.utime(raw_path(lake, DAY, 0), ns=(after, after))
    assert note(lake).md5 == hashlib.md5(other).hexdigest()


def fetch_again_and_again(base, home, times):
    lake = Lake(home)
    settings = FetchSettings(base=base, backoff=0.005, read_timeout=30.0, connections=2)
    for _ in range(times):
        files = fetch_day(DAY, lake, settings, now=NOW)
        assert files[0].status == "ok", files[0]


@pytest.mark.parametrize("two", ["threads", pytest.param("processes", marks=FORKING)])
def test_two_fetchers_of_an_hour_wait_for_each_other_and_ask_once(hour_archive, lake, two):
    hour_archive.always[NAME] = "short"
    fetch(hour_archive, lake, attempts=1)
    hour_archive.always.clear()
    hour_archive.requests.clear()
    arguments = (hour_archive.url, lake.home, 5)
    if two == "threads":
        workers = [threading.Thread(target=fetch_again_and_again, args=arguments) for _ in range(2)]
    else:
        workers = [FORKS.Process(target=fetch_again_and_again, args=arguments) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    codes = [code for _, code in hour_archive.requests_for(NAME)]
    assert sorted(codes) == [206, *[304] * 9]
    assert raw(lake) == BODY
    assert not list(raw_folder(lake, DAY).glob(".*"))


def test_an_archive_that_cannot_be_reached_is_told_at_once(lake):
    settings = FetchSettings(base="http://user:s3cret@127.0.0.1:9/mirror")
    with pytest.raises(ConnectionError, match=r"http://127.0.0.1:9/mirror \(LDG_GHARCHIVE_URL\)") as error:
        list(fetch_days([DAY], lake, settings))
    assert "s3cret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_days_that_are_held_need_no_archive(hour_archive, lake, hours_of_a_day):
    hours_of_a_day.append(1)  # which the archive has not
    fetch(hour_archive, lake)
    lines = []
    settings = FetchSettings(base="http://127.0.0.1:9")
    ((day, files),) = fetch_days([DAY], lake, settings, log=lines.append, now=NOW)
    assert (day, files[0].status, {file.status for file in files[1:]}) == (DAY, "ok", {"missing"})
    assert "every hour of these days is held" in lines[0]
    with pytest.raises(ConnectionError):
        list(fetch_days([DAY, date(2020, 5, 6)], lake, settings, now=NOW))


def test_an_archive_that_answers_anything_is_there(hour_archive):
    hour_archive.always[""] = 503
    probe(fast(hour_archive))
    assert len(hour_archive.requests) == 1


def test_a_password_in_the_address_is_nowhere_to_be_read(hour_archive, lake, tmp_path):
    secret = hour_archive.url.replace("http://", "http://someone:s3cret@") + "?token=t0ken"
    lines = []
    for fault in (None, 500, "login", "reset", "stall", "redirects", "huge length", "slow headers"):
        hour_archive.always = dict.fromkeys([file_name(DAY, hour) for hour in range(24)], fault)
        settings = fast(
            hour_archive, base=secret, attempts=1, read_timeout=0.3, attempt_timeout=0.5, connections=8
        )
        files = fetch_day(DAY, Lake(lake.home / str(fault)), settings, now=NOW, log=lines.append)
        lines += [file.reason for file in files]
        read_day(DAY, Lake(lake.home / str(fault)), EventRules(), log=lines.append)
    settings = replace(settings, base="http://someone:s3cret@127.0.0.1:9?token=t0ken")
    lines += [file.reason for file in fetch_day(DAY, lake, settings, now=NOW, log=lines.append)]
    lines.append(repr(settings))
    written = [str(path).encode() + path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for word in ("someone", "s3cret", "t0ken"):
        assert not [text for text in lines if word in text]
        assert not [content for content in written if word.encode() in content]
    assert hour_archive.requests_for(f"{NAME}?token=t0ken")[0][0]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("base", ["http://user:s3/cret@host/x", "http://:s3cret@", "ftp://me:s3cret@host"])
def test_an_address_that_is_malformed_is_refused_without_its_password(base):
    with pytest.raises(ValueError, match=r"base \(LDG_GHARCHIVE_URL\)") as error:
        FetchSettings(base=base)
    assert "cret" not in str(error.value)
