"""What homes share through a real server: whole or not at all, and nothing overwritten unseen."""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset
import pytest
from pyarrow.fs import S3FileSystem

from pipeline.lake import Lake, write_parquet
from pipeline.sources.gharchive.days import day_locked, days_locked
from pipeline.sources.gharchive.files import HourFile, load_knowledge, md5_of, raw_path, store_knowledge
from pipeline.storage.bucket import Bucket, StorageError
from pipeline.storage.publication import Publication
from pipeline.storage.seal import Seal, seal_key
from pipeline.storage.share import ConflictError, Storage, TornError
from pipeline.storage.things import archive_day, raw_hours, things_here
from tests.object_server import KEY, SECRET, ObjectServer
from tests.pipeline.storage.making import DAY, FOLDER, MODEL, contents, objects, read, train
from tests.ports import free_port

pytestmark = pytest.mark.xdist_group("storage")


class Refusal(BaseHTTPRequestHandler):
    """Says no, and quotes what it was asked with, as servers do."""

    def do_GET(self) -> None:
        body = (
            f"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>{KEY}</AWSAccessKeyId></Error>".encode()
        )
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def refusing_server() -> Iterator[str]:
    """The address of a server that takes nobody's credentials."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_what_one_home_publishes_another_brings_byte_for_byte(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    train(one.home, "first")
    read(one.home)
    sent = sum(one.publish(thing) for thing in things_here(one.home))
    assert sent == sum(map(len, contents(one.home).values()))
    assert objects(one.bucket) == contents(one.home)
    other.bring(MODEL)
    other.bring(archive_day(DAY))
    brought = contents(other.home)
    assert {path: data for path, data in contents(one.home).items() if not path.endswith(".gz")} == brought
    assert other.bring(MODEL) == other.publish(MODEL) == 0


def test_a_raw_hour_is_brought_alone_when_it_is_asked_for(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    read(one.home)
    one.publish(raw_hours(DAY))
    wanted = f"raw/gharchive/2015/01/02/{DAY}-1.json.gz"
    assert other.bring_file(raw_hours(DAY), wanted)
    assert list(contents(other.home)) == [wanted]
    assert not other.bring_file(raw_hours(DAY), wanted.replace("-1.json", "-7.json"))


def test_an_hour_that_a_home_drops_stays_in_the_storage(homes: tuple[Storage, Storage]) -> None:
    one, _ = homes
    read(one.home)
    one.publish(raw_hours(DAY))
    for raw in one.home.rglob("*.json.gz"):
        raw.unlink()
    read(one.home, parts=(2,))
    one.publish(raw_hours(DAY))
    assert sum(key.endswith(".json.gz") for key in one.bucket.list("")) == 3


def test_a_changed_day_replaces_the_former_and_leaves_nothing_of_it(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    read(one.home, parts=(0, 1, 2))
    one.publish(archive_day(DAY))
    other.bring(archive_day(DAY))
    (one.home / f"events/github/date={DAY}/02.parquet").unlink()
    (one.home / f"events/github/date={DAY}/01.parquet").write_text("late rows")
    one.publish(archive_day(DAY))
    other.bring(archive_day(DAY))
    assert (other.home / f"events/github/date={DAY}/01.parquet").read_text() == "late rows"
    assert {path for path in objects(one.bucket) if path.startswith("events")} == {
        f"events/github/date={DAY}/0{hour}.parquet" for hour in (0, 1)
    }
    parts = sorted(path.name for path in (other.home / f"events/github/date={DAY}").iterdir())
    assert parts == ["00.parquet", "01.parquet"]


def test_what_is_gone_from_a_home_is_neither_removed_there_nor_missed(homes: tuple[Storage, Storage]) -> None:
    one, _ = homes
    train(one.home, "first")
    one.publish(MODEL)
    before = contents(one.home)
    for path in (one.home / FOLDER).iterdir():
        path.unlink()
    assert one.publish(MODEL) == 0
    assert one.bring(MODEL) > 0
    assert contents(one.home) == before


def test_a_home_that_made_room_removes_nothing_there_and_is_filled_again_when_asked(
    homes: tuple[Storage, Storage],
) -> None:
    one, other = homes
    day = archive_day(DAY)
    read(one.home)
    one.publish(day)
    other.bring(day)
    whole = contents(one.home)
    for path in (one.home / f"events/github/date={DAY}").iterdir():
        path.unlink()
    assert one.publish(day) == 0
    assert other.bring(day) == 0
    assert {path for path in objects(one.bucket) if path.startswith("events")}
    assert one.bring(day) > 0
    assert contents(one.home) == whole
    train(one.home, "first")
    one.publish(MODEL)
    other.bring(MODEL)
    train(other.home, "second")
    other.publish(MODEL)
    (one.home / FOLDER / "weights.safetensors").unlink()
    assert one.bring(MODEL) > 0, "what was published is no conflict"
    assert "second" in (one.home / FOLDER / "weights.safetensors").read_text()


def test_an_hour_that_another_home_has_newer_stays_so_in_the_storage(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    hour = f"raw/gharchive/2015/01/02/{DAY}-0.json.gz"
    read(one.home, text="old", parts=(0,))
    one.publish(raw_hours(DAY))
    read(other.home, text="newer", parts=(0,))
    other.publish(raw_hours(DAY))
    for last in (1, 2):
        read(one.home, text="old", parts=(last,))
        one.publish(raw_hours(DAY))
        stored = objects(one.bucket)
        assert stored[hour].startswith(b"new")
        assert stored[hour.replace("-0.json", f"-{last}.json")].startswith(b"old")


def test_a_raw_hour_gives_way_to_another_homes_note_unless_it_was_put_there_by_hand(
    object_server: ObjectServer, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in object_server.variables.items():
        monkeypatch.setenv(name, text)
    one, other = (Lake(tmp_path / name, address) for name in ("one", "other"))

    def fetch(lake: Lake, text: str) -> None:
        for number in range(3):
            raw = raw_path(lake, DAY, number)
            raw.parent.mkdir(parents=True, exist_ok=True)
            raw.write_bytes(gzip.compress(f"{text} {number}".encode()))
            store_knowledge(lake, HourFile(DAY, number, "ok", bytes=raw.stat().st_size, md5=md5_of(raw)))
        account = lake.github_accounts / f"date={DAY}.parquet"
        account.parent.mkdir(parents=True, exist_ok=True)
        account.write_text(text)

    fetch(one, "old")
    with days_locked(one, [DAY], "a test"):
        pass
    with day_locked(other, DAY, "a test"):
        fetch(other, "new")
        raw_path(other, DAY, 2).unlink()
        store_knowledge(other, HourFile(DAY, 2, "failed", "not to be had there"))
    with days_locked(other, [DAY], "a test"):
        pass
    by_hand = gzip.compress(b"by hand")
    raw_path(one, DAY, 1).write_bytes(by_hand)
    with day_locked(one, DAY, "a test"):
        notes = [load_knowledge(one, DAY, number) for number in range(2)]
    assert not raw_path(one, DAY, 0).exists()
    assert raw_path(one, DAY, 2).exists(), "the other has none"
    assert raw_path(one, DAY, 1).read_bytes() == by_hand
    assert [note.md5 for note in notes if note] == [
        md5_of(raw_path(other, DAY, 0)),
        md5_of(raw_path(one, DAY, 1)),
    ]


def test_of_two_homes_with_news_the_second_is_refused_and_neither_is_lost(
    homes: tuple[Storage, Storage],
) -> None:
    one, other = homes
    train(one.home, "one's")
    train(other.home, "other's")
    one.publish(MODEL)
    with pytest.raises(ConflictError, match=r"models/github/dyrep-bilinear .*--replace"):
        other.publish(MODEL)
    with pytest.raises(ConflictError, match="--replace"):
        other.bring(MODEL)
    assert objects(one.bucket) == contents(one.home)
    assert "other's" in (other.home / FOLDER / "model.json").read_text()
    other.publish(MODEL, replace=True)
    assert one.bring(MODEL) > 0
    assert contents(one.home) == contents(other.home) == objects(one.bucket)


def test_what_can_be_made_again_gives_way_to_what_another_has_published(
    homes: tuple[Storage, Storage],
) -> None:
    one, other = homes
    read(one.home, text="whole")
    one.publish(archive_day(DAY))
    read(other.home, text="half made", parts=(0, 1, 5))
    other.bring(archive_day(DAY))
    assert (other.home / archive_day(DAY).last).read_text() == (one.home / archive_day(DAY).last).read_text()
    assert not (other.home / f"events/github/date={DAY}/05.parquet").exists()


def test_writers_at_the_same_time_leave_one_whole(
    object_server: ObjectServer, address: str, tmp_path: Path
) -> None:
    writers = [object_server.storage(address, tmp_path / str(number), silence=60) for number in range(6)]
    for number, writer in enumerate(writers):
        train(writer.home, f"writer {number}", files=tuple(f"{name}.parquet" for name in "abcdef"))
    start, refused = threading.Barrier(len(writers)), []

    def publish(writer: Storage) -> None:
        start.wait()
        try:
            writer.publish(MODEL)
        except ConflictError:
            refused.append(writer)

    threads = [threading.Thread(target=publish, args=[writer]) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (writer for writer in writers if writer not in refused)
    assert objects(winner.bucket) == contents(winner.home)


def test_a_writer_that_was_taken_for_dead_is_refused(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    train(one.home, "slow")
    train(other.home, "quick")
    slow = Publication(one.bucket, one.home, MODEL, None, None)
    slow._seal(is_open=True)
    other.publish(MODEL)
    ours = one.here(MODEL, None)
    with pytest.raises(StorageError, match="written by another"):
        slow._put_all(list(ours), ours)
    assert objects(other.bucket) == contents(other.home)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda data: data[:-1], "bytes instead of"),
        (lambda data: b"X" + data[1:], "other bytes than were published"),
        (lambda data: None, "is not there"),
    ],
    ids=["truncated", "altered", "removed"],
)
def test_an_object_that_is_not_what_was_published_is_refused_and_can_be_mended(
    homes: tuple[Storage, Storage], harm: Callable[[bytes], bytes | None], words: str
) -> None:
    one, other = homes
    train(one.home, "first")
    one.publish(MODEL)
    key = f"{FOLDER}/weights.safetensors"
    stored = one.bucket.find(key)
    assert stored is not None
    if (harmed := harm(stored.data)) is None:
        one.bucket.delete([key])
    else:
        one.bucket.put(key, harmed, stored.etag)
    with pytest.raises(TornError, match=words):
        other.bring(MODEL)
    assert contents(other.home) == {}, "nothing of it came"
    one.publish(MODEL, replace=True)
    other.bring(MODEL)
    assert contents(other.home) == contents(one.home)


def test_a_killed_bringing_is_done_again(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    train(one.home, "first")
    one.publish(MODEL)
    other.bring(MODEL)
    train(one.home, "second")
    one.publish(MODEL)
    # As it is after a kill between two files: the last file gone, one other in place.
    (other.home / FOLDER / "model.json").unlink()
    other.memory(MODEL).unlink()
    (other.home / FOLDER / "curves.parquet").write_text("second curves.parquet")
    other.bring(MODEL)
    assert contents(other.home) == contents(one.home)


def test_a_server_that_is_away_costs_a_sentence_and_nothing_else(
    object_server: ObjectServer, address: str, tmp_path: Path
) -> None:
    train(tmp_path, "first")
    before = contents(tmp_path)
    away = Bucket(
        address, {**object_server.bucket(address).options, "endpoint": f"http://127.0.0.1:{free_port()}"}
    )
    with pytest.raises(
        StorageError, match=r"s3://.* at http://127.0.0.1:\d+ \(LDG_STORAGE, AWS_ENDPOINT_URL\)"
    ):
        Storage(tmp_path, away).publish(MODEL)
    assert contents(tmp_path) == before
    back = object_server.storage(address, tmp_path)
    assert back.publish(MODEL) > 0
    assert objects(back.bucket) == before


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    train(tmp_path, "first")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {"endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}", "access_key_id": KEY}
        bucket = Bucket("s3://bucket", {**options, "secret_access_key": SECRET}, patience=0.5, tries=1)
        with pytest.raises(StorageError, match="cannot be reached: no answer"):
            Storage(tmp_path, bucket).publish(MODEL)


def test_a_bucket_that_is_not_there_is_named(object_server: ObjectServer, tmp_path: Path) -> None:
    train(tmp_path, "first")
    with pytest.raises(StorageError, match="there is no bucket nowhere at http://127"):
        object_server.storage("s3://nowhere", tmp_path).publish(MODEL)


def test_refused_credentials_are_told_and_never_shown(refusing_server: str, tmp_path: Path) -> None:
    train(tmp_path, "first")
    options = {"endpoint": refusing_server, "access_key_id": KEY, "secret_access_key": SECRET}
    storage = Storage(tmp_path, Bucket("s3://bucket", options))
    with pytest.raises(StorageError, match="refuses the credentials of AWS_ACCESS_KEY_ID") as error:
        storage.publish(MODEL)
    shown = f"{error.value!r} {storage!r} {error.value.__cause__!r}"
    assert KEY not in shown
    assert SECRET not in shown


def test_something_else_in_the_place_of_a_seal_is_told(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    one.bucket.put(seal_key(MODEL), b"no seal", None)
    with pytest.raises(TornError, match=r"seals/models/github/dyrep-bilinear.json .*remove it"):
        other.bring(MODEL)


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "own/columns.py", "models/github/other/model.json", f"{FOLDER}/.env", f"{FOLDER}/below/x"),
        *("../outside.txt", f"{FOLDER}/../../../.env", "/tmp/outside.txt", f"/{FOLDER}/curves.parquet"),
    ],
)
def test_a_seal_that_lists_files_of_something_else_is_refused(
    homes: tuple[Storage, Storage], path: str
) -> None:
    one, other = homes
    train(one.home, "first")
    one.publish(MODEL)
    stored = one.bucket.find(seal_key(MODEL))
    assert stored is not None
    seal = json.loads(stored.data)
    curves = seal["files"][f"{FOLDER}/curves.parquet"]
    etag = one.bucket.put(seal_key(MODEL), json.dumps(seal | {"files": {path: curves}}).encode(), stored.etag)
    for bring_or_publish in (other.bring, one.publish):
        train(one.home, "second")
        with pytest.raises(
            StorageError, match=rf"{seal_key(MODEL)} in s3://.* lists {path}, which is no file of"
        ):
            bring_or_publish(MODEL)
    one.bucket.put(seal_key(MODEL), json.dumps(seal | {"files": {}, "unsure": [path]}).encode(), etag)
    with pytest.raises(StorageError, match="is no file of"):
        one.publish(MODEL, replace=True)
    assert contents(other.home) == {}


def test_a_link_out_of_a_things_folder_is_neither_followed_nor_published(
    homes: tuple[Storage, Storage], tmp_path: Path
) -> None:
    one, other = homes
    train(one.home, "first", files=("curves.parquet",))
    (tmp_path / "secret").write_text("secret")
    (one.home / FOLDER / "curves.parquet").unlink()
    (one.home / FOLDER / "curves.parquet").symlink_to(tmp_path / "secret")
    with pytest.raises(StorageError, match=f"lists {FOLDER}/curves.parquet, .* link out of its folder"):
        one.publish(MODEL)
    assert one.bucket.list("") == {}
    (one.home / FOLDER / "curves.parquet").unlink()
    one.publish(MODEL)
    (other.home / FOLDER).parent.mkdir(parents=True)
    (tmp_path / "large disk").mkdir()
    (other.home / FOLDER).symlink_to(tmp_path / "large disk")  # of the home's owner
    other.bring(MODEL)
    assert contents(tmp_path / "large disk").keys() == {"model.json"}


def test_what_is_no_seal_below_the_seals_is_told_and_the_rest_is_brought(
    homes: tuple[Storage, Storage],
) -> None:
    one, other = homes
    train(one.home, "first")
    one.publish(MODEL)
    strays = ("readme.txt", "models/github/a/b.json", "results/more.json", "datasets/a/b.json")
    for stray in strays:
        one.bucket.put(f"seals/{stray}", b"stray", None)
    lines: list[str] = []
    assert Storage(other.home, other.bucket, lines.append).news("") == [MODEL]
    assert [line.split(" in s3://")[0] for line in lines] == sorted(f"seals/{stray}" for stray in strays)


def test_a_seal_tells_who_published_what(homes: tuple[Storage, Storage]) -> None:
    one, _ = homes
    train(one.home, "first")
    one.publish(MODEL)
    stored = one.bucket.find(seal_key(MODEL))
    assert stored is not None
    seal = Seal.read(stored.data)
    assert not seal.is_open
    assert seal.by.endswith(str(one.home.resolve()))
    assert set(json.loads(stored.data)["files"]) == set(objects(one.bucket))


def test_the_bucket_is_read_as_it_is_by_polars_pyarrow_and_duckdb(
    homes: tuple[Storage, Storage], object_server: ObjectServer, address: str
) -> None:
    one, _ = homes
    for number, of in enumerate((DAY, date(2015, 1, 3))):
        read(one.home, of)
        rows = pl.DataFrame({"id": [number, number + 10]})
        for part in (one.home / f"events/github/date={of}").iterdir():
            write_parquet(rows, part)
        one.publish(archive_day(of))
    variables = object_server.variables
    pattern = f"{address}/events/github/date=*/*.parquet"
    assert (
        pl.scan_parquet(pattern, storage_options=variables).select(pl.col("id").sum()).collect().item() == 44
    )
    server = S3FileSystem(
        access_key=KEY, secret_key=SECRET, endpoint_override=object_server.endpoint, region="us-east-1"
    )
    events = pyarrow.dataset.dataset(
        address.removeprefix("s3://") + "/events/github", filesystem=server, partitioning="hive"
    )
    rows = duckdb.connect().from_arrow(events)
    ((days, total),) = rows.aggregate("count(distinct date), sum(id)").fetchall()
    assert (days, total) == (2, 44)
