"""A writer that is killed half-way leaves nothing that seems whole, and another takes its place."""

import signal
from pathlib import Path

import pytest

from pipeline.storage.share import Storage
from pipeline.storage.things import archive_day
from tests.forks import FORKS
from tests.object_server import ObjectServer
from tests.pipeline.storage.killed_writer import publish_until_killed
from tests.pipeline.storage.making import DAY, contents, objects, read

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("storage")]


def kill_while_it_publishes(writer: Storage, after: int) -> None:
    """Let the day be published by a process that is killed after so many files."""
    arguments = (writer.home, writer.bucket, archive_day(DAY), after)
    child = FORKS.Process(target=publish_until_killed, args=arguments)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("after", [0, 2, 5])
def test_a_killed_writer_leaves_nothing_that_seems_whole_and_goes_on(
    homes: tuple[Storage, Storage], after: int
) -> None:
    one, other = homes
    read(one.home, text="before")
    one.publish(archive_day(DAY))
    before = contents(one.home)
    other.bring(archive_day(DAY))
    read(one.home, text="after", parts=(0, 1, 2))
    kill_while_it_publishes(one, after)
    assert archive_day(DAY).last not in objects(one.bucket), "a reader without seals sees a whole day"
    assert other.bring(archive_day(DAY)) == 0
    assert contents(other.home) == {path: data for path, data in before.items() if not path.endswith(".gz")}
    one.publish(archive_day(DAY))
    other.bring(archive_day(DAY))
    assert contents(other.home) == objects(one.bucket)
    assert "after" in (other.home / archive_day(DAY).last).read_text()


def test_who_has_it_whole_takes_the_place_of_a_dead_writer(homes: tuple[Storage, Storage]) -> None:
    one, other = homes
    read(one.home, text="never finished", parts=(0, 1, 7))
    kill_while_it_publishes(one, 6)
    read(other.home, text="whole")
    other.publish(archive_day(DAY))
    assert objects(other.bucket) == {
        path: data for path, data in contents(other.home).items() if not path.endswith(".gz")
    }


def test_what_a_dead_writer_had_removed_is_put_again_by_who_takes_its_place(
    homes: tuple[Storage, Storage], object_server: ObjectServer, address: str, tmp_path: Path
) -> None:
    one, other = homes
    day = archive_day(DAY)
    read(one.home, parts=(0, 1))
    one.publish(day)
    other.bring(day)
    (one.home / f"events/github/date={DAY}/01.parquet").unlink()
    (one.home / day.last).write_text("without its last hour")
    kill_while_it_publishes(one, 0)
    assert f"events/github/date={DAY}/01.parquet" not in objects(one.bucket), "removed before the kill"
    (other.home / day.last).write_text("read anew")
    other.publish(day)
    third = object_server.storage(address, tmp_path / "third")
    third.bring(day)
    assert contents(third.home) == contents(other.home)
