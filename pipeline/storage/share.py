"""Two-way synchronization of a home with the storage: publish (upload) and bring (download).

A home remembers the last seal (manifest) that it saw of each thing. Files changed locally since then are
uploaded, files changed remotely are downloaded. If both changed, it is a conflict; only `bring` lets the
storage's version win, for things that can be rebuilt (`Thing.remade`). Without LDG_STORAGE nothing is done.
"""

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from pipeline.lake import Lake, replacing
from pipeline.lake import file_sha256 as sha256_of
from pipeline.storage.bucket import Bucket, ChangedError, StorageError
from pipeline.storage.publication import AT_ONCE, Publication
from pipeline.storage.seal import SEALS, Seal, SealedFile, same_files, seal_key, seal_owner
from pipeline.storage.things import Thing, event_table, learned_waiting_times, results, thing_named
from pipeline.text import printable

SILENCE = 120.0  # seconds without a heartbeat after which the writer of an open seal is considered dead
TRIES = 5  # of a download that is replaced meanwhile

Log = Callable[[str], None]


class ConflictError(StorageError):
    """A thing that this home and another both changed; the message says how to choose."""


class TornError(StorageError):
    """A stored file that does not match its seal, or an invalid seal."""


class Memory(msgspec.Struct, frozen=True):
    """The sync state of a thing: the last seal seen, and modification times (ns) of the local files."""

    address: str
    etag: str
    files: dict[str, SealedFile]
    times: dict[str, int]  # files with unchanged times are not hashed again


memory_decoder = msgspec.json.Decoder(Memory)


def bring_things(lake: Lake, *things: Thing, log: Log | None = None) -> None:
    """Download new versions of `things` from the storage."""
    if lake.storage:
        storage = Storage.of(lake, log)
        for thing in things:
            storage.bring(thing)


def publish_things(lake: Lake, *things: Thing, log: Log | None = None) -> None:
    """Upload local changes of `things` to the storage."""
    if lake.storage:
        storage = Storage.of(lake, log)
        for thing in things:
            storage.publish(thing)


@contextmanager
def shared(lake: Lake, *things: Thing, log: Log | None = None) -> Generator[None]:
    """Download `things` on entry and upload them on exit, unless the body raises."""
    bring_things(lake, *things, log=log)
    yield
    publish_things(lake, *things, log=log)


@contextmanager
def results_shared(lake: Lake, datasets: Sequence[str], log: Log | None = None) -> Generator[None]:
    """Share the results as `shared` does, and first download the datasets and models they are built from."""
    if lake.storage:
        storage = Storage.of(lake, log)
        for dataset in datasets:
            storage.bring(event_table(dataset))
            storage.bring(learned_waiting_times(dataset))
            for model in storage.news(f"models/{dataset}"):
                storage.bring(model)
    with shared(lake, results(), log=log):
        yield


def news(lake: Lake, kind: str, log: Log | None = None) -> list[Thing]:
    """List things of a kind, such as `days`, whose stored version this home does not have."""
    return Storage.of(lake, log).news(kind) if lake.storage else []


def bring_file(lake: Lake, thing: Thing, path: Path) -> bool:
    """Download one file of a thing; return False if the storage does not have it."""
    return bool(lake.storage) and Storage.of(lake).bring_file(thing, path.relative_to(lake.home).as_posix())


@dataclass(frozen=True)
class Storage:
    """The shared storage, as seen from one home."""

    home: Path
    bucket: Bucket
    log: Log = field(default=lambda _: None)
    silence: float = SILENCE

    @classmethod
    def of(cls, lake: Lake, log: Log | None = None) -> "Storage":
        """Return the storage that the lake names."""
        return cls(lake.home, Bucket.of(lake.storage, lake.home), log or (lambda _: None))

    def publish(self, thing: Thing, replace: bool = False) -> int:
        """Upload local changes of a thing; return the bytes uploaded.

        Raise ConflictError if another home published it too; with `replace`, overwrite that version instead.
        """
        memory = self.remembered(thing)
        ours = self.here(thing, memory) if thing.is_here(self.home) else {}
        if not ours or (memory and not replace and not news_in(ours, memory)):
            return 0
        sealed = self.there(thing)
        seal, etag = sealed or (None, None)
        theirs = seal.files if seal else {}
        held = ours if thing.keeps else {}  # remember local files as they are, even if the storage has others
        if thing.keeps:  # files that we did not change yield to the stored ones
            ours = {**ours, **theirs, **(ours if replace else news_in(ours, memory))}
        if seal and not seal.is_open and not replace:
            if same_files(ours, theirs):
                self.remember(thing, etag or "", {**theirs, **held})
                return 0
            if not thing.keeps and (memory is None or memory.etag != etag):
                raise self.conflict(thing, seal)
        self.memory(thing).unlink(missing_ok=True)  # the sync state is unknown until the upload is complete
        publication = Publication(self.bucket, self.home, thing, seal, etag)
        try:
            put = publication.publish(ours, again=replace and not thing.keeps)
        except ChangedError:
            raise ConflictError(
                f"{thing.name} was published by another home meanwhile, in {self.bucket.where}: what is here "
                "is as it was; run again, and the other's is brought first"
            ) from None
        self.remember(thing, publication.etag or "", {**publication.files, **held})
        return put

    def bring(self, thing: Thing, replace: bool = False) -> int:
        """Download the stored version of a thing if it is new; return the bytes downloaded.

        Wait for a running upload; an upload abandoned by a dead writer counts as absent. Raise ConflictError
        for local changes that cannot be rebuilt, unless `replace`. Files of a `keeps` thing are only added.
        """
        for _ in range(TRIES):
            memory = self.remembered(thing)
            is_here = thing.is_here(self.home)
            ours = self.here(thing, memory)
            seen = ""
            if memory and is_here and not replace and not is_thinned(thing, ours, memory):
                seen = memory.etag
            sealed = self.there(thing, seen)
            if sealed is None or sealed[0].is_open:
                return 0
            seal, etag = sealed
            if not same_files(ours, seal.files) and is_here and not replace and not thing.keeps:
                self.let_go(thing, ours, memory, seal)
            try:
                came = self.take(thing, ours, seal)
            except TornError:
                again = self.bucket.find(seal_key(thing))
                if again is None or again.etag != etag:
                    continue  # a newer version was published meanwhile
                raise
            self.remember(thing, etag, {**seal.files, **(ours if thing.keeps else {})})
            return came
        raise StorageError(f"{thing.name} in {self.bucket.where} is replaced faster than it can be brought")

    def news(self, kind: str) -> list[Thing]:
        """List stored things of a kind, such as `models/github`, that are absent or outdated here."""
        things = []
        for key, etag in sorted(self.bucket.list(f"{SEALS}/{kind}").items()):
            try:
                thing = thing_named(key.removeprefix(f"{SEALS}/").removesuffix(".json"))
            except ValueError:
                self.log(f"{printable(key)} in {self.bucket.where} is ignored: it is no seal. Remove it")
                continue
            memory = self.remembered(thing)
            if memory is None or memory.etag != etag or not thing.is_here(self.home):
                things.append(thing)
        return things

    def bring_file(self, thing: Thing, path: str) -> bool:
        """Download one file of a thing; return False if the storage does not have it."""
        sealed = self.there(thing)
        file = sealed[0].files.get(path) if sealed else None
        if file is None:
            return False
        with replacing(self.home / path) as temporary:
            self.download(thing, path, file, temporary)
        return True

    def remembered(self, thing: Thing) -> Memory | None:
        """Return the sync state of a thing with this storage, or None."""
        try:
            memory = memory_decoder.decode(self.memory(thing).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
        return memory if memory.address == self.bucket.address else None

    def remember(self, thing: Thing, etag: str, files: Mapping[str, SealedFile]) -> None:
        """Write the sync state after an upload or a download."""
        times = {path: (self.home / path).stat().st_mtime_ns for path in thing.files(self.home)}
        with replacing(self.memory(thing)) as temporary:
            temporary.write_bytes(msgspec.json.encode(Memory(self.bucket.address, etag, dict(files), times)))

    def memory(self, thing: Thing) -> Path:
        """Return the path of a thing's sync state."""
        return self.home / "storage" / f"{thing.name}.json"

    def here(self, thing: Thing, memory: Memory | None) -> dict[str, SealedFile]:
        """Return the thing's local files, hashing those that changed since `memory`."""
        files = {}
        paths = sorted(thing.files(self.home))
        self.check_paths(thing, paths, str(self.home))
        for path in paths:
            facts = (self.home / path).stat()
            file = memory.files.get(path) if memory and memory.times.get(path) == facts.st_mtime_ns else None
            if file is None or file.bytes != facts.st_size:
                file = SealedFile(facts.st_size, sha256_of(self.home / path), "")
            files[path] = file
        return files

    def there(self, thing: Thing, unless: str = "") -> tuple[Seal, str] | None:
        """Return the thing's seal and its ETag, or None if it is absent or still has the ETag `unless`.

        Wait while another home uploads the thing. An open seal is returned only if it is our own, or if its
        writer has sent no heartbeat for `silence` seconds. Raise TornError for an invalid seal.
        """
        watched, since = "", 0.0
        while True:
            stored = self.bucket.find(seal_key(thing), unless)
            if stored is None:
                return None
            try:
                seal = Seal.read(stored.data)
            except msgspec.MsgspecError:
                raise TornError(
                    f"{seal_key(thing)} in {self.bucket.where} is no seal: remove it, and {thing.name} "
                    "counts as absent"
                ) from None
            self.check_paths(thing, (*seal.files, *seal.unsure), f"{seal_key(thing)} in {self.bucket.where}")
            if not seal.is_open or seal.by == seal_owner(self.home):
                return seal, stored.etag
            if stored.etag != watched:
                if not watched:
                    self.log(f"{thing.name} is being published by {seal}: waiting")
                watched, since = stored.etag, time.monotonic()
            elif time.monotonic() - since > self.silence:
                self.log(f"{thing.name} was left half published by {seal}")
                return seal, stored.etag
            time.sleep(min(1.0, self.silence / 10))

    def check_paths(self, thing: Thing, paths: Iterable[str], source: str) -> None:
        """Raise StorageError for a path outside the thing, because these paths are written and removed."""
        for path in paths:
            if not thing.may_have(path, self.home):
                raise StorageError(
                    f"{source} lists {printable(path)}, which is no file of {thing.name}, or a link out of "
                    "its folder. Nothing was written. Remove the seal or the link, then publish again"
                )

    def let_go(self, thing: Thing, ours: Mapping[str, SealedFile], memory: Memory | None, seal: Seal) -> None:
        """Raise ConflictError if local files were changed since the last sync and cannot be rebuilt."""
        if memory is not None and not news_in(ours, memory):
            return
        if not thing.remade:
            raise self.conflict(thing, seal)
        self.log(f"{thing.name} here was not published; that of {seal} takes its place")

    def conflict(self, thing: Thing, seal: Seal) -> ConflictError:
        """Return the error for a thing that both homes changed, with the commands that resolve it."""
        return ConflictError(
            f"{thing.name} here differs from the one that {seal} put into {self.bucket.where}. "
            f"`ldg storage publish --replace {thing.name}` keeps the one here, "
            f"`ldg storage bring --replace {thing.name}` the other"
        )

    def take(self, thing: Thing, ours: Mapping[str, SealedFile], seal: Seal) -> int:
        """Make the local files equal to the seal's, the last file last; return the bytes downloaded."""
        wanted = {path: file for path, file in seal.files.items() if not file.is_like(ours.get(path))}
        if thing.keeps:
            wanted = {path: file for path, file in wanted.items() if path not in ours}
        elif wanted and thing.last in seal.files:  # it is deleted below, so download it again
            wanted[thing.last] = seal.files[thing.last]
        staged = self.home / "storage" / f".{thing.name.replace('/', '-')}.{os.getpid()}.tmp"
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                tasks = [
                    pool.submit(self.download, thing, path, file, staged / path)
                    for path, file in wanted.items()
                ]
                for task in tasks:
                    task.result()
            # If the process is killed below, the thing counts as absent and is downloaded again.
            self.memory(thing).unlink(missing_ok=True)
            if thing.last in wanted:
                (self.home / thing.last).unlink(missing_ok=True)
            if not thing.keeps:
                for path in ours.keys() - seal.files.keys():
                    (self.home / path).unlink(missing_ok=True)
            for path in sorted(wanted, key=lambda path: path == thing.last):
                (self.home / path).parent.mkdir(parents=True, exist_ok=True)
                (staged / path).replace(self.home / path)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        return sum(file.bytes for file in wanted.values())

    def download(self, thing: Thing, path: str, file: SealedFile, to: Path) -> None:
        """Download one file and verify its hash; raise TornError if it does not match the seal."""
        stored = self.bucket.find(path, size=file.bytes)
        wrong = (
            "is not there"
            if stored is None
            else f"has {len(stored.data):,} bytes instead of {file.bytes:,}"
            if len(stored.data) != file.bytes
            else "has other bytes than were published"
            if sha256(stored.data).hexdigest() != file.sha256
            else ""
        )
        if stored is None or wrong:
            raise TornError(
                f"{path} in {self.bucket.where} {wrong}. `ldg storage publish --replace {thing.name}` in a "
                f"home that has it mends it; without {seal_key(thing)} it counts as absent, and is made anew"
            )
        to.parent.mkdir(parents=True, exist_ok=True)
        with to.open("wb") as written:
            written.write(stored.data)
            written.flush()
            os.fsync(written.fileno())


def news_in(ours: Mapping[str, SealedFile], memory: Memory | None) -> dict[str, SealedFile]:
    """Return the local files that are new or changed since the last sync.

    Deleted files do not count as changes: code that deletes files for good also writes others.
    """
    in_storage = memory.files if memory else {}
    return {path: file for path, file in ours.items() if not file.is_like(in_storage.get(path))}


def is_thinned(thing: Thing, ours: Mapping[str, SealedFile], memory: Memory) -> bool:
    """Return True if some files of a synchronized thing were deleted and the others are unchanged."""
    return not thing.keeps and not news_in(ours, memory) and ours.keys() < memory.files.keys()
