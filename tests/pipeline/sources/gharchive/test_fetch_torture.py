"""Two fetchers at once, over several visits, against servers that do everything wrong.

Each hour of a home is a seeded sequence of its own: what the server has of it from visit to visit, and how it
answers. Whatever happens, a file in the lake is one that the server had, and a whole one stays.
"""

import gzip
import hashlib
import random
import threading
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day
from pipeline.sources.gharchive.files import load_knowledge, raw_folder, raw_path
from pipeline.sources.gharchive.hours import file_name
from tests.forks import FORKS
from tests.pipeline.sources.gharchive.archive_server import Archive, serving
from tests.pipeline.sources.gharchive.making import lines, modern

DAY = date(2020, 5, 5)
NOW = datetime(2021, 1, 1)
HOMES = 6  # of 24 sequences each, with every kind of tag; two of them are fetched by processes
VISITS = 4  # and a last one on which the server is well
TAGS = ["md5", "opaque", "none", "weak"]
QUICK = [
    *[403, 404, 416, 429, 500, 503, "reset", "short", "login", "packed login", "empty", "page as file"],
    *[
        "wrong etag",
        "opaque etag",
        "no length",
        "no length cut",
        "ignore range",
        "wrong range",
        "wrong total",
    ],
    *["short range", "splice", "flipped on the way", "cut on the way", "huge length", "odd length"],
    *["negative length", "redirects", "redirected login"],
]
SLOW = ["stall", "trickle", "slow headers", "slow chunks"]
MISCHIEVOUS = FetchSettings(
    connections=6, attempts=3, backoff=0.001, read_timeout=0.15, attempt_timeout=0.3, longest_wait=0.01
)
PATIENT = FetchSettings(connections=6, attempts=3, backoff=0.001, read_timeout=20.0, attempt_timeout=60.0)


def fetch(base: str, home: Path, patient: bool) -> list[str]:
    settings = replace(PATIENT if patient else MISCHIEVOUS, base=base)
    return [file.status for file in fetch_day(DAY, Lake(home), settings, now=NOW)]


def fetch_at_once(base: str, home: Path, processes: bool, patient: bool = False) -> None:
    """Two fetchers, both of which must come to their end."""
    ended = []
    arguments = (base, home, patient)
    if processes:
        children = [FORKS.Process(target=fetch, args=arguments) for _ in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join(50)
        ended = [child for child in children if child.exitcode == 0]
    else:
        threads = [
            threading.Thread(target=lambda: ended.append(fetch(*arguments)), daemon=True) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(50)
    assert len(ended) == 2


def packed(rng: random.Random) -> bytes:
    count = rng.randrange(36, 41)  # any version has nine tenths of any other: a smaller one replaces nothing
    events = [modern(rng.getrandbits(40), actor=rng.randbytes(12).hex()) for _ in range(count)]
    return gzip.compress(lines(events), 6, mtime=0)


def is_whole(body: bytes) -> bool:
    try:
        return bool(gzip.decompress(body))
    except (OSError, EOFError, zlib.error):
        return False


@dataclass
class Sequence:
    """One hour: what the server ever had of it, what it has now, and the best that was held."""

    hour: int
    rng: random.Random
    versions: set[bytes] = field(default_factory=set)
    held_whole: bool = False

    def next_visit(self, archive: Archive) -> None:
        """Publish something or nothing, and choose how the server answers."""
        name, rng = file_name(DAY, self.hour), self.rng
        if name not in archive.files or rng.random() < 0.4:
            body = packed(rng)
            if rng.random() < 0.15:
                body = body[: rng.randrange(len(body) // 2, len(body))]  # damaged at the source
            archive.files[name] = body
            self.versions.add(body)
        elif rng.random() < 0.1:
            del archive.files[name]
        faults = rng.choices(QUICK, k=rng.randrange(7))
        if rng.random() < 0.08:
            faults.insert(0, rng.choice(SLOW))
        archive.faults[name] = faults

    def check(self, lake: Lake) -> str:
        """Hold what is in the lake against what the server had; returns the hour's status."""
        file, path = load_knowledge(lake, DAY, self.hour), raw_path(lake, DAY, self.hour)
        status = file.status if file is not None else "failed"
        if path.exists():
            body = path.read_bytes()
            assert body in self.versions, "a file that the server never had"
            assert status == "ok"
            assert file is not None
            assert (file.bytes, file.md5) == (len(body), hashlib.md5(body).hexdigest())
            assert is_whole(body) or not self.held_whole, "a whole hour was replaced by a broken one"
            self.held_whole |= is_whole(body)
        else:
            assert status in {"failed", "missing"}
            assert not self.held_whole, "a whole hour was lost"
        return status


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HOMES))
def test_whatever_servers_do_the_lake_holds_what_they_had_or_says_that_it_does_not(seed, tmp_path):
    rng = random.Random(f"torture {seed}")
    sequences = [Sequence(hour, random.Random(f"torture {seed} {hour}")) for hour in range(24)]
    archive = Archive(tags=TAGS[seed % len(TAGS)])
    lake = Lake(tmp_path)
    with serving(archive):
        processes = seed % 5 == 0
        for _ in range(VISITS):
            archive.tags = rng.choice([archive.tags, archive.tags, rng.choice(TAGS)])
            for sequence in sequences:
                sequence.next_visit(archive)
            fetch_at_once(archive.url, lake.home, processes)
            statuses = Counter(sequence.check(lake) for sequence in sequences)
            assert statuses["ok"] > 0
        archive.faults.clear()
        fetch_at_once(archive.url, lake.home, processes, patient=True)
        for sequence in sequences:
            published = archive.files.get(file_name(DAY, sequence.hour))
            held_before = sequence.held_whole
            status = sequence.check(lake)
            if published is None:
                assert status in {"ok", "missing"}
            elif is_whole(published):
                assert raw_path(lake, DAY, sequence.hour).read_bytes() == published
            else:
                assert status == "ok", "damaged at the source, or a better one that was held"
                assert sequence.held_whole is held_before
        assert not list(raw_folder(lake, DAY).glob(".*")), "parts are left over"
