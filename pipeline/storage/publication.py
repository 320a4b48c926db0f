"""The upload protocol of a thing: open its seal (manifest), upload its files, close the seal."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from hashlib import sha256
from pathlib import Path

from pipeline.storage.bucket import Bucket, ChangedError, StorageError
from pipeline.storage.seal import Seal, SealedFile, seal_key
from pipeline.storage.things import Thing

AT_ONCE = 4  # concurrent transfers; each holds a file in memory
BEAT = 20.0  # seconds between heartbeats of a writer


class Publication:
    """An upload of a thing from `home`, in place of the stored version (seal `theirs`, its ETag `etag`)."""

    def __init__(
        self, bucket: Bucket, home: Path, thing: Thing, theirs: Seal | None, etag: str | None
    ) -> None:
        self.bucket, self.home, self.thing, self.etag = bucket, home, thing, etag
        self.theirs = theirs.files if theirs else {}
        self.unsure = set(theirs.unsure) if theirs else set()
        self.files: dict[str, SealedFile] = {}  # already in place
        self.sealed_at = 0.0

    def publish(self, ours: Mapping[str, SealedFile], again: bool = False) -> int:
        """Upload the changed files of `ours` (all with `again`), delete the rest; return the bytes uploaded.

        If stored files are replaced, the thing's last file is deleted first and uploaded at the end. A reader
        that ignores seals therefore never takes a mixture of two versions for a complete thing.
        """
        last, theirs = self.thing.last, self.theirs
        new = [path for path, file in ours.items() if again or not file.is_like(theirs.get(path))]
        gone = [path for path in (theirs.keys() | self.unsure) - ours.keys() if path != last]
        replaced = {*gone, *new} & (theirs.keys() | self.unsure)
        if last in ours and replaced and last not in new:
            new.append(last)
        others = [path for path in new if path != last]
        self.unsure = {*gone, *new}
        self.files = {path: file for path, file in theirs.items() if path not in self.unsure}
        self._seal(is_open=True)
        if last in new and replaced:
            self.bucket.delete([last])
        self._put_all(others, ours)
        self.bucket.delete(gone)
        self.files = {path: file for path, file in self.files.items() if path in ours}
        self._put_all([path for path in new if path == last], ours)
        self._seal(is_open=False)
        return sum(ours[path].bytes for path in new)

    def _seal(self, is_open: bool) -> None:
        """Write the seal if the stored one is still the version we know; raise ChangedError otherwise."""
        unsure = self.unsure if is_open else ()
        data = Seal.written(self.home, self.files, is_open=is_open, unsure=unsure).encoded()
        try:
            self.etag = self.bucket.put(seal_key(self.thing), data, self.etag)
        except ChangedError:
            # A retry after a lost response finds our own write in place.
            stored = self.bucket.find(seal_key(self.thing))
            if stored is None or stored.data != data:
                raise
            self.etag = stored.etag
        self.sealed_at = time.monotonic()

    def _put_all(self, paths: Sequence[str], ours: Mapping[str, SealedFile]) -> None:
        """Upload files concurrently, and rewrite the seal every `BEAT` seconds as a heartbeat."""
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            pending = {pool.submit(self._put, path, ours[path]): path for path in paths}
            while pending:
                done, _ = wait(pending, timeout=BEAT, return_when=FIRST_COMPLETED)
                for task in done:
                    self.files[pending.pop(task)] = task.result()
                if pending and time.monotonic() - self.sealed_at > BEAT:
                    self._seal(is_open=True)
        finally:
            pool.shutdown(cancel_futures=True)

    def _put(self, path: str, file: SealedFile) -> SealedFile:
        data = (self.home / path).read_bytes()
        if sha256(data).hexdigest() != file.sha256:
            raise StorageError(f"{path} changes while {self.thing.name} is being published: publish it again")
        before = self.theirs.get(path)
        try:
            etag = self.bucket.put(
                path, data, None if before is None or path == self.thing.last else before.etag
            )
        except ChangedError:
            # Left by a dead writer, or one considered dead. The holder of the seal may overwrite it.
            seal = self.bucket.find(seal_key(self.thing))
            if seal is None or seal.etag != self.etag:
                raise
            etag = self.bucket.put(path, data, self.bucket.version(path))
        return SealedFile(file.bytes, file.sha256, etag)
