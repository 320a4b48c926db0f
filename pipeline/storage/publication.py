"""A thing on its way into the storage: its seal is opened, its files are put, its seal is closed."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from hashlib import sha256
from pathlib import Path

from pipeline.storage.bucket import Bucket, ChangedError, StorageError
from pipeline.storage.seal import Seal, SealedFile, seal_key
from pipeline.storage.things import Thing

AT_ONCE = 4  # transfers; each holds a file in memory
BEAT = 20.0  # seconds after which a writer shows that it is alive


class Publication:
    """What `home` has of a thing, put in the place of what the seal `theirs`, of version `etag`, says."""

    def __init__(
        self, bucket: Bucket, home: Path, thing: Thing, theirs: Seal | None, etag: str | None
    ) -> None:
        self.bucket, self.home, self.thing, self.etag = bucket, home, thing, etag
        self.theirs = theirs.files if theirs else {}
        self.unsure = set(theirs.unsure) if theirs else set()
        self.files: dict[str, SealedFile] = {}  # those in place
        self.sealed_at = 0.0

    def publish(self, ours: Mapping[str, SealedFile], again: bool = False) -> int:
        """Put all of `ours` that is new, or everything `again`, and nothing else; return the bytes put.

        The last file is deleted before any other is replaced, and put after them all: whoever looks at
        the storage without its seals sees things as on the disk of a home, and none that is half of one
        version and half of another.
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
        """Write the seal in the place of the version that we know."""
        unsure = self.unsure if is_open else ()
        data = Seal.written(self.home, self.files, is_open=is_open, unsure=unsure).encoded()
        try:
            self.etag = self.bucket.put(seal_key(self.thing), data, self.etag)
        except ChangedError:
            # The client asks again where an answer got lost, and then finds what it wrote itself.
            stored = self.bucket.find(seal_key(self.thing))
            if stored is None or stored.data != data:
                raise
            self.etag = stored.etag
        self.sealed_at = time.monotonic()

    def _put_all(self, paths: Sequence[str], ours: Mapping[str, SealedFile]) -> None:
        """Put files side by side; whoever waits for the seal meanwhile sees it change."""
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
            # Left by a writer that died, or by one that was taken for dead: who holds the seal decides.
            seal = self.bucket.find(seal_key(self.thing))
            if seal is None or seal.etag != self.etag:
                raise
            etag = self.bucket.put(path, data, self.bucket.version(path))
        return SealedFile(file.bytes, file.sha256, etag)
