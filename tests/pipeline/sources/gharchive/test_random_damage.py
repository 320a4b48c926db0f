"""Random damage to the sample world's hours: nothing raises, sums balance, what was not touched is kept.

`python -m tests.pipeline.sources.gharchive.test_random_damage 5000` makes as many damages and prints what
came of them. The seed of one that fails is in the message.
"""

import gzip
import random
import sys
import tempfile
import zlib
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pipeline.sources.gharchive.identity import event_identity
from pipeline.sources.gharchive.normalize import EventRules, resolve
from pipeline.sources.gharchive.reading import read_file
from pipeline.sources.gharchive.salvage import salvaged_event
from pipeline.sources.sample import gharchive
from pipeline.sources.sample.build import GITHUB_WORLD
from pipeline.sources.sample.world import simulate
from tests.pipeline.sources.gharchive.test_damage import assert_accounted

DAMAGES = 300
NAME = "2015-01-01-0.json.gz"
RULES = EventRules(associations=frozenset({"FollowEvent", "MemberEvent"}))


@cache
def sample_hours():
    """The lines of each hour of the sample world that are one event each."""
    world = simulate(GITHUB_WORLD)
    rng = np.random.Generator(np.random.PCG64([GITHUB_WORLD.seed, 1]))
    files = gharchive.hour_files(gharchive.happenings(world, rng), rng)
    return [
        [
            line.rstrip(b"\n")
            for line in lines
            if line.count(b'"public"') == 1 and salvaged_event(line.strip())
        ]
        for lines in files.values()
    ]


def text_of(rng, hours):
    """Some hours that follow each other, as one text."""
    first = rng.randrange(len(hours) - 12)
    lines = [line for hour in hours[first : first + rng.randint(1, 12)] for line in hour]
    return b"".join(line + b"\n" for line in lines)


def spans_of(text):
    """Where each event of an undamaged text begins and ends."""
    begin = 0
    for line in text.splitlines():
        yield begin, begin + len(line)
        begin += len(line) + 1


def row_of(line):
    """The row that an event must have in the table; None if it is to be ignored."""
    event = salvaged_event(line)
    assert event is not None
    row = resolve(event) if event.type in RULES.kinds else "ignored"
    if isinstance(row, str) or row[0].lower() == row[2].lower():
        return None
    return event.id or event_identity(event).hex(), event.type, *row


class Bytes:
    """Bytes under damage, each with the place it came from; -1 if it came from nowhere."""

    def __init__(self, text):
        self.values = np.frombuffer(text, dtype=np.uint8).copy()
        self.places = np.arange(len(text))

    def range(self, rng, longest):
        begin = rng.randrange(len(self.values) + 1)
        return begin, min(len(self.values), begin + rng.randint(1, longest))

    def splice(self, begin, end, text):
        new = np.frombuffer(text, dtype=np.uint8)
        self.values = np.concatenate([self.values[:begin], new, self.values[end:]])
        self.places = np.concatenate([self.places[:begin], np.full(len(new), -1), self.places[end:]])

    def rearrange(self, *ranges):
        self.values = np.concatenate([self.values[begin:end] for begin, end in ranges])
        self.places = np.concatenate([self.places[begin:end] for begin, end in ranges])

    def untouched(self, begin, end):
        """How many of the bytes from `begin` to `end` still stand together, at best."""
        starts = np.flatnonzero(self.places == begin)
        wanted = np.arange(begin, end)
        best = 0
        for at in starts:
            there = self.places[at : at + end - begin]
            same = there == wanted[: len(there)]
            best = max(best, len(same) if same.all() else int(np.argmin(same)))
        return best


def flip_bit(rng, damaged):
    at = rng.randrange(len(damaged.values))
    damaged.splice(at, at + 1, bytes([int(damaged.values[at]) ^ 1 << rng.randrange(8)]))


def truncate(rng, damaged):
    damaged.rearrange((0, rng.randrange(1, len(damaged.values) + 1)))


def insert_bytes(rng, damaged):
    at = rng.randrange(len(damaged.values) + 1)
    damaged.splice(at, at, rng.randbytes(rng.randint(1, 300)))


def delete_range(rng, damaged):
    begin, end = damaged.range(rng, 3000)
    damaged.splice(begin, end, b"")


def overwrite_with_nul(rng, damaged):
    begin, end = damaged.range(rng, 600)
    damaged.splice(begin, end, b"\0" * (end - begin))


def duplicate_range(rng, damaged):
    begin, end = damaged.range(rng, 5000)
    damaged.rearrange((0, end), (begin, len(damaged.values)))


def repeat_range_elsewhere(rng, damaged):
    begin, end = damaged.range(rng, 5000)
    at = rng.randrange(len(damaged.values) + 1)
    damaged.rearrange((0, at), (begin, end), (at, len(damaged.values)))


def swap_blocks(rng, damaged):
    first, second, third, fourth = sorted(rng.randrange(len(damaged.values) + 1) for _ in range(4))
    damaged.rearrange(
        (0, first), (third, fourth), (second, third), (first, second), (fourth, len(damaged.values))
    )


ANYWHERE = [
    flip_bit, truncate, insert_bytes, delete_range, overwrite_with_nul,
    duplicate_range, repeat_range_elsewhere, swap_blocks,
]  # fmt: skip


def line_end(rng, damaged):
    ends = np.flatnonzero(damaged.values == ord("\n"))
    return int(rng.choice(ends)) if len(ends) else len(damaged.values) - 1


def garbage_line(rng, damaged):
    at = line_end(rng, damaged) + 1
    garbage = [
        b"<html>",
        b'{"message":"limit"}',
        b"{",
        b'{"type":"PushEvent"',
        b"[1,",
        b'"',
        b"null",
        b"\xff\xfe",
    ]
    damaged.splice(at, at, rng.choice(garbage) + b"\n")


def join_lines(rng, damaged):
    at = line_end(rng, damaged)
    damaged.splice(at, at + 1, rng.choice([b"", b" ", b"\r", b",", b"\0"]))


def split_line(rng, damaged):
    at = rng.randrange(len(damaged.values) + 1)
    damaged.splice(at, at, b"\n")


def bad_utf8(rng, damaged):
    at = rng.randrange(len(damaged.values) + 1)
    damaged.splice(at, at, rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\\ud83d"]))


IN_TEXT = [*ANYWHERE, garbage_line, join_lines, split_line, bad_utf8]


def insert_member(rng, damaged):
    at = rng.randrange(len(damaged.values) + 1)
    text = rng.choice([b"", b"<html>", b'{"type":"PushEvent",', b"\n" * 5000, rng.randbytes(500)])
    text = gzip.compress(text, mtime=0) if rng.random() < 0.3 else text
    damaged.splice(at, at, gzip.compress(text, mtime=0))


def fake_header(rng, damaged):
    at = rng.randrange(len(damaged.values) + 1)
    damaged.splice(at, at, b"\x1f\x8b\x08" + rng.randbytes(rng.randint(1, 12)))


def spoil_header(rng, damaged):
    at = rng.choice(magics) if (magics := np.flatnonzero(damaged.values[:-1] == 0x1F).tolist()) else 0
    at = min(at + rng.randrange(12), len(damaged.values) - 1)
    damaged.splice(at, at + 1, rng.randbytes(1))


IN_GZIP = [*ANYWHERE, insert_member, fake_header, spoil_header]


def damaged_text(rng, text):
    """An hour with damage to its text, and the places of the events that it did not touch."""
    damaged = Bytes(text)
    names = harm(rng, damaged, IN_TEXT)
    whole = [(begin, end) for begin, end in spans_of(text) if damaged.untouched(begin, end) == end - begin]
    return gzip.compress(damaged.values.tobytes(), 1, mtime=0), whole, names


def damaged_gzip(rng, text):
    """An hour with damage to its gzip, and the places of the events that can still be inflated.

    Of a member that is what its bytes before the first damaged one give.
    """
    cuts = sorted({0, len(text), *(rng.randrange(len(text)) for _ in range(rng.randrange(6)))})
    members = [gzip.compress(text[begin:end], 6, mtime=0) for begin, end in pairwise(cuts)]
    packed = b"".join(members)
    damaged = Bytes(packed)
    names = harm(rng, damaged, IN_GZIP)
    whole, at = [], 0
    for member, begin in zip(members, cuts, strict=False):
        sound = damaged.untouched(at, at + len(member))
        at += len(member)
        there = begin + len(zlib.decompressobj(31).decompress(member[:sound]))
        whole += [(first, last) for first, last in spans_of(text) if begin <= first and last <= there]
    return damaged.values.tobytes(), whole, names


def harm(rng, damaged, ways):
    names = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        if len(damaged.values):
            way = rng.choice(ways)
            way(rng, damaged)
            names.append(way.__name__)
    return names


def figures_of(damage, count, folder):
    """Make so many damages of one sort, see that each costs only what it touches, and count."""
    hours = sample_hours()
    path = folder / NAME
    figures = Counter()
    for seed in range(count):
        rng = random.Random(f"{damage.__name__} {seed}")
        text = text_of(rng, hours)
        packed, whole, names = damage(rng, text)
        path.write_bytes(packed)
        tables = read_file(path, NAME, RULES)
        assert_accounted(tables)
        columns = [
            tables.events[name] for name in ("event_id", "type", "actor", "actor_id", "counterpart", "repo")
        ]
        rows = set(zip(*columns, tables.events["created_at"].to_physical(), strict=True))
        wanted = {row for begin, end in whole if (row := row_of(text[begin:end])) is not None}
        lost = sorted(map(str, wanted - rows))
        assert not lost, f"seed {seed}, {names}: {len(lost)} events lost: {lost[:2]}"
        figures["damages"] += 1
        figures["events"] += text.count(b"\n")
        figures["events out of reach"] += text.count(b"\n") - len(whole)
        figures["rows that had to be kept, and were"] += len(wanted)
        figures["rows kept beyond these"] += len(rows - wanted)
        figures["duplicates"] += tables.counts.duplicates
        figures["quarantined"] += tables.counts.quarantined
    return figures


@pytest.mark.slow
@pytest.mark.parametrize("damage", [damaged_text, damaged_gzip])
def test_damage_costs_only_the_events_it_touches(damage, tmp_path):
    assert figures_of(damage, DAMAGES // 2, tmp_path)["damages"] == DAMAGES // 2


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for sort in (damaged_text, damaged_gzip):
            for name, figure in figures_of(sort, int(sys.argv[1]) // 2, Path(scratch)).items():
                sys.stdout.write(f"{sort.__name__}: {name}: {figure:,}\n")
