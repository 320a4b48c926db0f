"""A writer that dies while it publishes. Its process imports this, so it is what that needs and no more."""

import os
import signal
from pathlib import Path

from pipeline.storage.bucket import Bucket
from pipeline.storage.publication import Publication
from pipeline.storage.share import Storage
from pipeline.storage.things import Thing


def publish_until_killed(home: Path, bucket: Bucket, thing: Thing, count: int) -> None:
    """Publish in a process that is killed before its file of this number is put."""

    def put(self: Publication, path: str, file: object, left: list[int] = [count]) -> object:  # noqa: B006
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return true_put(self, path, file)  # ty: ignore[invalid-argument-type]

    true_put = Publication._put
    Publication._put = put  # ty: ignore[invalid-assignment] - in the child alone
    Storage(home, bucket).publish(thing)
