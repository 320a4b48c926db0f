import shutil
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version

import pytest

from pipeline.lake import Lake
from pipeline.sources.gharchive.account import account_path
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import fetch_days
from pipeline.sources.gharchive.fetch import LONGEST_STREAK, FetchSettings, fetch_day
from pipeline.sources.gharchive.files import knowledge_path, load_knowledge, raw_folder, raw_path
from pipeline.sources.gharchive.hours import end_of_hour, file_name
from pipeline.sources.gharchive.normalize import EventRules
from tests.pipeline.sources.gharchive.archive_server import Archive, fast, serving
from tests.pipeline.sources.gharchive.making import lines, modern, store

DAY = date(2020, 5, 5)
NOW = datetime(2021, 1, 1)
HOURS = 6  # of a day here: none is fetched differently from the others
NAMES = [file_name(DAY, hour) for hour in range(HOURS)]


def hour_text(hour, count=30):
    return lines(modern(hour * 1000 + n, created_at=f"2020-05-05T{hour:02d}:00:00Z") for n in range(count))


@pytest.fixture(scope="module")
def hour_bodies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bodies")
    return {name: store(folder / name, hour_text(hour)).read_bytes() for hour, name in enumerate(NAMES)}


def shorten_days(patch: pytest.MonkeyPatch) -> None:
    for module in ("fetch", "day"):
        patch.setattr(f"pipeline.sources.gharchive.{module}.hours_of_day", lambda day: list(range(HOURS)))


@pytest.fixture
def day_archive(hour_bodies, monkeypatch):
    """An archive that has the whole day."""
    shorten_days(monkeypatch)
    with serving(Archive(files=dict(hour_bodies))) as archive:
        yield archive


def tables(lake):
    """Every table of the day, byte for byte."""
    paths = sorted(
        [*lake.github_events.rglob("*"), *lake.github_quarantine.rglob("*"), account_path(lake, DAY)]
    )
    return {str(path.relative_to(lake.home)): path.read_bytes() for path in paths if path.is_file()}


@pytest.fixture(scope="module")
def healthy_tables(hour_bodies, tmp_path_factory):
    healthy = Lake(tmp_path_factory.mktemp("healthy"))
    with serving(Archive(files=dict(hour_bodies))) as archive, pytest.MonkeyPatch.context() as patch:
        shorten_days(patch)
        fetch_day(DAY, healthy, fast(archive), now=NOW)
        assert read_day(DAY, healthy, EventRules()).kept == HOURS * 30
    return tables(healthy)


@pytest.mark.parametrize(
    "faults",
    [
        [500, 503],
        [403],
        [429, 429],
        ["reset"],
        ["stall"],
        ["short", "short"],
        ["wrong etag"],
        ["no length"],
        ["short", "ignore range"],
        ["short", "wrong range"],
        ["short", 503, "reset", 429],
    ],
    ids=str,
)
def test_a_misbehaving_server_gives_the_same_tables_as_a_healthy_one(
    day_archive, lake, healthy_tables, faults
):
    for name in NAMES[::3]:
        day_archive.faults[name] = list(faults)
    files = fetch_day(DAY, lake, fast(day_archive, read_timeout=0.5), now=NOW)
    assert {file.status for file in files} == {"ok"}
    assert read_day(DAY, lake, EventRules()).complete
    assert tables(lake) == healthy_tables


@pytest.mark.parametrize(
    "fault", [500, 403, 429, "reset", "stall", "wrong etag", "redirect to no address"], ids=str
)
def test_an_hour_that_never_works_is_reported_and_costs_no_other(day_archive, lake, healthy_tables, fault):
    day_archive.always[NAMES[3]] = fault
    files = fetch_day(DAY, lake, fast(day_archive, attempts=2, read_timeout=0.5), now=NOW)
    assert [file.status for file in files] == ["ok"] * 3 + ["failed"] + ["ok"] * 2
    assert files[3].reason
    account = read_day(DAY, lake, EventRules())
    assert not account.complete
    assert account.hours == {"ok": 5, "missing": 0, "damaged": 0, "failed": 1}
    assert account.kept == 5 * 30

    del day_archive.always[NAMES[3]]
    day_archive.requests.clear()
    day_archive.sent_bytes = 0
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    assert day_archive.sent_bytes <= len(day_archive.files[NAMES[3]])
    assert read_day(DAY, lake, EventRules()).complete
    assert tables(lake) == healthy_tables


def test_a_partial_file_is_resumed_by_range(day_archive, lake):
    day_archive.faults[NAMES[0]] = ["short"]
    fetch_day(DAY, lake, fast(day_archive, connections=1), now=NOW)
    first, second = day_archive.requests_for(NAMES[0])
    half = len(day_archive.files[NAMES[0]]) // 2
    assert (first[1], second[1]) == (200, 206)
    assert second[0]["Range"] == f"bytes={half}-"
    assert second[0]["If-Range"].strip('"')
    assert raw_path(lake, DAY, 0).read_bytes() == day_archive.files[NAMES[0]]


def test_a_partial_file_of_another_run_is_resumed_unless_it_was_replaced(day_archive, lake, hour_bodies):
    for hour in (0, 1):
        day_archive.always[NAMES[hour]] = "reset"
    assert fetch_day(DAY, lake, fast(day_archive, attempts=1), now=NOW)[0].status == "failed"
    day_archive.always.clear()
    day_archive.requests.clear()
    day_archive.files[NAMES[1]] = hour_bodies[NAMES[5]]
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    assert [code for _, code in day_archive.requests_for(NAMES[0])] == [206]
    assert [code for _, code in day_archive.requests_for(NAMES[1])] == [200]
    assert raw_path(lake, DAY, 0).read_bytes() == hour_bodies[NAMES[0]]
    assert raw_path(lake, DAY, 1).read_bytes() == hour_bodies[NAMES[5]]
    assert not list(raw_folder(lake, DAY).glob("*.part*"))


def test_an_unchanged_file_is_not_fetched_again_and_a_replaced_one_is(day_archive, lake, hour_bodies):
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    day_archive.requests.clear()
    day_archive.sent_bytes = 0
    day_archive.files[NAMES[3]] = hour_bodies[NAMES[4]]
    later = NOW + timedelta(days=1)
    files = fetch_day(DAY, lake, fast(day_archive), now=later)
    assert day_archive.sent_bytes == len(hour_bodies[NAMES[4]])
    assert [code for _, _, code in day_archive.requests].count(304) == HOURS - 1
    assert [file.fetched_at for file in files].count(later) == 1
    assert files[3].fetched_at == later
    assert read_day(DAY, lake, EventRules()).duplicates == 30


def test_a_replaced_file_changes_the_tables(day_archive, lake, hour_bodies, tmp_path):
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    read_day(DAY, lake, EventRules())
    day_archive.files[NAMES[3]] = store(tmp_path / "new.gz", hour_text(3, 45)).read_bytes()
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    assert read_day(DAY, lake, EventRules()).kept == HOURS * 30 + 15


def test_a_file_that_is_held_survives_a_server_that_fails(day_archive, lake):
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    day_archive.always = dict.fromkeys(NAMES, 500) | {NAMES[0]: 404}
    files = fetch_day(DAY, lake, fast(day_archive, attempts=1), now=NOW)
    assert {file.status for file in files} == {"ok"}


def test_an_archive_in_trouble_is_given_up_after_a_few_hours_and_asked_again_the_next_time(
    day_archive, lake, hour_bodies
):
    days = [DAY + timedelta(days=number) for number in range(3)]
    names = [file_name(day, hour) for day in days for hour in range(HOURS)]
    day_archive.files = dict(zip(names, list(hour_bodies.values()) * len(days), strict=True))
    day_archive.always = dict.fromkeys(names, 503)
    settings = fast(day_archive, attempts=2, connections=4)
    fetched = [file for _, files in fetch_days(days, lake, settings, now=NOW) for file in files]
    assert {file.status for file in fetched} == {"failed"}
    assert len(fetched) == len(names)
    assert "hours in a row failed (503" in fetched[-1].reason
    requested = {name for name, _, _ in day_archive.requests} & set(names)
    assert LONGEST_STREAK <= len(requested) < LONGEST_STREAK + settings.connections
    day_archive.always = {}
    fetched = [file for _, files in fetch_days(days, lake, settings, now=NOW) for file in files]
    assert {file.status for file in fetched} == {"ok"}


def test_progress_says_how_many_hours_were_found(day_archive, lake):
    del day_archive.files[NAMES[4]]
    day_archive.always[NAMES[5]] = 403
    lines = []
    fetch_day(DAY, lake, fast(day_archive, attempts=1), log=lines.append, now=NOW)
    assert "4 found, 1 missing, 1 failed" in lines[-1]


def test_hours_that_fail_here_and_there_give_nothing_up(day_archive, lake):
    day_archive.always = dict.fromkeys(NAMES[::2], 503)
    files = fetch_day(DAY, lake, fast(day_archive, attempts=1, connections=1), now=NOW)
    assert [file.status for file in files] == ["failed", "ok"] * (HOURS // 2)
    assert {file.reason for file in files[::2]} == {"503 Service Unavailable"}


def test_an_etag_that_is_not_an_md5_still_tells_changes(day_archive, lake):
    day_archive.always[NAMES[0]] = "opaque etag"
    assert fetch_day(DAY, lake, fast(day_archive), now=NOW)[0].etag == '"v1-abc"'
    day_archive.requests.clear()
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    assert [code for _, code in day_archive.requests_for(NAMES[0])] == [304]


def test_a_404_is_missing_only_when_the_hour_is_old_enough(day_archive, lake):
    del day_archive.files[NAMES[4]]
    young = end_of_hour(DAY, 4) + timedelta(hours=11)
    assert fetch_day(DAY, lake, fast(day_archive), now=young)[4].status == "failed"
    assert not read_day(DAY, lake, EventRules()).complete
    assert fetch_day(DAY, lake, fast(day_archive), now=young + timedelta(hours=2))[4].status == "missing"
    account = read_day(DAY, lake, EventRules())
    assert account.complete
    assert account.hours["missing"] == 1
    assert len(day_archive.requests_for(NAMES[4])) == 2  # a 404 is not tried again in the same run


def test_an_hour_that_appears_late_is_fetched(day_archive, lake, hour_bodies):
    del day_archive.files[NAMES[4]]
    assert fetch_day(DAY, lake, fast(day_archive), now=NOW)[4].status == "missing"
    day_archive.files[NAMES[4]] = hour_bodies[NAMES[4]]
    assert fetch_day(DAY, lake, fast(day_archive), now=NOW)[4].status == "ok"


def test_hours_that_never_existed_are_not_asked_for(lake):
    with serving(Archive()) as archive:
        files = fetch_day(date(2013, 3, 10), lake, fast(archive), now=NOW)
    hours = [0, 1, *range(3, 24)]
    assert [file.hour for file in files] == hours
    assert {name for name, _, _ in archive.requests} == {f"2013-03-10-{hour}.json.gz" for hour in hours}


def test_retry_after_is_honoured(day_archive, lake):
    day_archive.retry_after = "1"
    day_archive.faults[NAMES[0]] = [429]
    started = datetime.now(UTC)
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    assert datetime.now(UTC) - started >= timedelta(seconds=1)


def test_a_retry_after_beyond_patience_ends_the_tries(day_archive, lake):
    day_archive.retry_after = "3600"
    day_archive.always[NAMES[0]] = 429
    assert fetch_day(DAY, lake, fast(day_archive), now=NOW)[0].status == "failed"
    assert len(day_archive.requests_for(NAMES[0])) == 1


def test_a_trickling_download_is_given_up(day_archive, lake):
    day_archive.always[NAMES[0]] = "trickle"
    files = fetch_day(DAY, lake, fast(day_archive, attempts=2, attempt_timeout=0.5), now=NOW)
    assert files[0].status == "failed"
    assert files[1].status == "ok"


def test_requests_say_which_version_asks(day_archive, lake):
    fetch_day(DAY, lake, fast(day_archive), now=NOW)
    asks = f"latent-dynamic-graphs/{version('latent-dynamic-graphs')} (python-requests)"
    assert {headers["User-Agent"] for _, headers, _ in day_archive.requests} == {asks}


def test_requests_say_who_asks(day_archive, lake):
    fetch_day(DAY, lake, fast(day_archive, user_agent="somebody/1.0"), now=NOW)
    assert {headers["User-Agent"] for _, headers, _ in day_archive.requests} == {"somebody/1.0"}


def test_a_server_that_is_not_there_fails_every_hour_and_raises_nothing(lake):
    settings = FetchSettings(base="http://127.0.0.1:9", attempts=1, backoff=0.0)
    assert {file.status for file in fetch_day(DAY, lake, settings, now=NOW)} == {"failed"}


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "by day"])
def test_a_local_folder_works_the_same(day_archive, lake, hour_bodies, tmp_path, nested, healthy_tables):
    base = tmp_path / "mirror"
    folder = base / "2020" / "05" / "05" if nested else base
    folder.mkdir(parents=True)
    for name in NAMES[1:]:
        (folder / name).write_bytes(hour_bodies[name])
    settings = FetchSettings(base=str(base))
    files = fetch_day(DAY, lake, settings, now=NOW)
    assert [file.status for file in files] == ["missing"] + ["ok"] * (HOURS - 1)
    before = raw_path(lake, DAY, 1).stat().st_mtime_ns
    shutil.copyfile(folder / NAMES[3], folder / NAMES[2])
    (folder / NAMES[0]).write_bytes(hour_bodies[NAMES[0]])
    files = fetch_day(DAY, lake, settings, now=NOW)
    assert {file.status for file in files} == {"ok"}
    assert raw_path(lake, DAY, 1).stat().st_mtime_ns == before
    assert raw_path(lake, DAY, 2).read_bytes() == hour_bodies[NAMES[3]]
    (folder / NAMES[2]).write_bytes(hour_bodies[NAMES[2]])
    fetch_day(DAY, lake, settings, now=NOW)
    read_day(DAY, lake, EventRules())
    events = {name: body for name, body in tables(lake).items() if name.startswith("events")}
    assert events == {name: body for name, body in healthy_tables.items() if name.startswith("events")}


def test_a_folder_that_is_not_there_is_one_clear_error(lake, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder of hour files"):
        fetch_day(DAY, lake, FetchSettings(base=str(tmp_path / "nowhere")))


def test_what_is_known_of_a_file_is_stored_beside_it(day_archive, lake):
    file = fetch_day(DAY, lake, fast(day_archive), now=NOW)[2]
    assert knowledge_path(lake, DAY, 2).parent == raw_path(lake, DAY, 2).parent
    assert load_knowledge(lake, DAY, 2) == file
    assert file.bytes == len(day_archive.files[NAMES[2]])
    assert file.fetched_at == NOW


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": ""},
        {"base": "ftp://x"},
        {"connections": 0},
        {"attempts": 0},
        {"read_timeout": 0},
        {"backoff": -1},
    ],
)
def test_settings_name_the_argument_that_is_wrong(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FetchSettings(**wrong)
