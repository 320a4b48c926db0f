"""Publishing and bringing: how a home and the storage come to hold the same.

A home remembers the seal that it last saw of each thing. What differs from it here is news of this home, what
differs from it there is news of another: the first is published, the second brought, and where both have
news nothing is overwritten unseen (`Thing.remade` says what can be made again). Without LDG_STORAGE nothing
here does anything.
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

SILENCE = 120.0  # seconds without a change after which the writer of an open seal is taken for dead
TRIES = 5  # at bringing what is replaced meanwhile

Log = Callable[[str], None]


class ConflictError(StorageError):
    """This home and another both have news of the same thing; the message says how to choose."""


class TornError(StorageError):
    """A file in the storage is not the one that its seal describes."""


class Memory(msgspec.Struct, frozen=True):
    """The seal of a thing that a home last saw, and when each of its own files was written."""

    address: str
    etag: str
    files: dict[str, SealedFile]
    times: dict[str, int]  # a file not written since is not read again to be compared


memory_decoder = msgspec.json.Decoder(Memory)


def bring_things(lake: Lake, *things: Thing, log: Log | None = None) -> None:
    """Bring what the storage has of `things` and this home has not."""
    if lake.storage:
        storage = Storage.of(lake, log)
        for thing in things:
            storage.bring(thing)


def publish_things(lake: Lake, *things: Thing, log: Log | None = None) -> None:
    """Publish what this home has of `things` and the storage has not."""
    if lake.storage:
        storage = Storage.of(lake, log)
        for thing in things:
            storage.publish(thing)


@contextmanager
def shared(lake: Lake, *things: Thing, log: Log | None = None) -> Generator[None]:
    """Work on the newest state of `things`: brought before and, if all goes well, published after."""
    bring_things(lake, *things, log=log)
    yield
    publish_things(lake, *things, log=log)


@contextmanager
def results_shared(lake: Lake, datasets: Sequence[str], log: Log | None = None) -> Generator[None]:
    """Work on the results: all that they are made from is brought before, too."""
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
    """What the storage has of a kind, such as `days`, and this home has not, by one listing."""
    return Storage.of(lake, log).news(kind) if lake.storage else []


def bring_file(lake: Lake, thing: Thing, path: Path) -> bool:
    """Bring one file of a thing that keeps its files; whether it is in the home now."""
    return bool(lake.storage) and Storage.of(lake).bring_file(thing, path.relative_to(lake.home).as_posix())


@dataclass(frozen=True)
class Storage:
    """The storage of a home."""

    home: Path
    bucket: Bucket
    log: Log = field(default=lambda _: None)
    silence: float = SILENCE

    @classmethod
    def of(cls, lake: Lake, log: Log | None = None) -> "Storage":
        """The storage that the settings name."""
        return cls(lake.home, Bucket.of(lake.storage, lake.home), log or (lambda _: None))

    def publish(self, thing: Thing, replace: bool = False) -> int:
        """Put what this home has of a thing into the storage, if it is news; return how many bytes went.

        With `replace`, everything of it, in the place of whatever another has published.
        """
        memory = self.remembered(thing)
        ours = self.here(thing, memory) if thing.is_here(self.home) else {}
        if not ours or (memory and not replace and not news_in(ours, memory)):
            return 0
        sealed = self.there(thing)
        seal, etag = sealed or (None, None)
        theirs = seal.files if seal else {}
        held = ours if thing.keeps else {}  # what is here stays known as it is, whatever another has there
        if thing.keeps:  # what is no news of ours gives way to another's
            ours = {**ours, **theirs, **(ours if replace else news_in(ours, memory))}
        if seal and not seal.is_open and not replace:
            if same_files(ours, theirs):
                self.remember(thing, etag or "", {**theirs, **held})
                return 0
            if not thing.keeps and (memory is None or memory.etag != etag):
                raise self.conflict(thing, seal)
        self.memory(thing).unlink(missing_ok=True)  # until all is in place nothing is certain
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
        """Bring what the storage has of a thing, if it is news; return how many bytes came.

        With `replace`, in the place of whatever is here. What another is publishing is waited for; what a
        dead one left half published counts as absent.
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
                    continue  # it is being replaced
                raise
            self.remember(thing, etag, {**seal.files, **(ours if thing.keeps else {})})
            return came
        raise StorageError(f"{thing.name} in {self.bucket.where} is replaced faster than it can be brought")

    def news(self, kind: str) -> list[Thing]:
        """What is there of a kind, such as `models/github`, and not here, or not in this version."""
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
        """Bring one file of a thing; False if the storage has none."""
        sealed = self.there(thing)
        file = sealed[0].files.get(path) if sealed else None
        if file is None:
            return False
        with replacing(self.home / path) as temporary:
            self.download(thing, path, file, temporary)
        return True

    def remembered(self, thing: Thing) -> Memory | None:
        """What this home last saw of a thing in this storage."""
        try:
            memory = memory_decoder.decode(self.memory(thing).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
        return memory if memory.address == self.bucket.address else None

    def remember(self, thing: Thing, etag: str, files: Mapping[str, SealedFile]) -> None:
        """Note what was published or brought."""
        times = {path: (self.home / path).stat().st_mtime_ns for path in thing.files(self.home)}
        with replacing(self.memory(thing)) as temporary:
            temporary.write_bytes(msgspec.json.encode(Memory(self.bucket.address, etag, dict(files), times)))

    def memory(self, thing: Thing) -> Path:
        """Where a home keeps what it last saw of a thing."""
        return self.home / "storage" / f"{thing.name}.json"

    def here(self, thing: Thing, memory: Memory | None) -> dict[str, SealedFile]:
        """The thing's files in this home."""
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
        """The thing's seal and its version; None if there is none, or none but the version `unless`.

        While another home publishes the thing, this waits. An open seal is returned only if it is our own, or
        one whose writer has shown no life for so long that it is taken for dead.
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
        """Refuse paths that are not files of the thing, because files are written and removed by them."""
        for path in paths:
            if not thing.may_have(path, self.home):
                raise StorageError(
                    f"{source} lists {printable(path)}, which is no file of {thing.name}, or a link out of "
                    "its folder. Nothing was written. Remove the seal or the link, then publish again"
                )

    def let_go(self, thing: Thing, ours: Mapping[str, SealedFile], memory: Memory | None, seal: Seal) -> None:
        """See that what the storage replaces here was published, or can be made again; else an error."""
        if memory is not None and not news_in(ours, memory):
            return
        if not thing.remade:
            raise self.conflict(thing, seal)
        self.log(f"{thing.name} here was not published; that of {seal} takes its place")

    def conflict(self, thing: Thing, seal: Seal) -> ConflictError:
        """What to say where both have news."""
        return ConflictError(
            f"{thing.name} here differs from the one that {seal} put into {self.bucket.where}. "
            f"`ldg storage publish --replace {thing.name}` keeps the one here, "
            f"`ldg storage bring --replace {thing.name}` the other"
        )

    def take(self, thing: Thing, ours: Mapping[str, SealedFile], seal: Seal) -> int:
        """Make the thing's files here those of the seal, its last file last; return how many bytes came."""
        wanted = {path: file for path, file in seal.files.items() if not file.is_like(ours.get(path))}
        if thing.keeps:
            wanted = {path: file for path, file in wanted.items() if path not in ours}
        elif wanted and thing.last in seal.files:  # removed below before others change, so it is brought anew
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
            # Killed from here on, the home has no such thing, and knows of none: it is brought again.
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
        """One file, verified; TornError if it is not what the seal describes."""
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
    """The files of this home that the storage has not, or has others of, as far as this home knows.

    That files are gone from it is no news: what removes some of them for good makes others anew.
    """
    in_storage = memory.files if memory else {}
    return {path: file for path, file in ours.items() if not file.is_like(in_storage.get(path))}


def is_thinned(thing: Thing, ours: Mapping[str, SealedFile], memory: Memory) -> bool:
    """Whether a shared thing was thinned to make room here: some files are gone, the others as they were."""
    return not thing.keeps and not news_in(ours, memory) and ours.keys() < memory.files.keys()
