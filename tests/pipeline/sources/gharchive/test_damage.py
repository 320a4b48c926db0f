"""Whatever happens to a file: nothing raises, no undamaged event is lost, and the account balances."""

import gzip
import hashlib
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.gharchive import decode, inflate
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import read_file
from tests.pipeline.sources.gharchive.making import line, modern, second

NAME = "2015-01-01-0.json.gz"


def number(index):
    # Ids far apart: a flipped bit cannot make one event's id another's.
    return int(hashlib.sha256(str(index).encode()).hexdigest()[:14], 16)


def make(index):
    if index % 3 == 2:
        return second(actor=f"ann{number(index)}", created_at="2013-02-15T00:00:39-08:00")
    return modern(number(index), actor=f"ann{number(index)}", type_=["PushEvent", "WatchEvent"][index % 2])


DAMAGE = st.sampled_from(
    ["none", "none", "cut head", "cut tail", "flip", "nul inside", "glue", "nul after", "junk after"]
)
damages = st.lists(st.tuples(DAMAGE, st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=12)


def damaged_text(plan):
    """The text, and the actors of the events in it that are whole."""
    text, whole = b"", []
    for index, (what, where, value) in enumerate(plan):
        event = make(index)
        body = line(event)
        at = min(int(where * len(body)), len(body) - 1)
        end = b"\n"
        if what == "cut head":
            body = body[at + 1 :]
        elif what == "cut tail":
            body, end = body[:at], b""
        elif what == "flip":
            body = body[:at] + bytes([body[at] ^ value]) + body[at + 1 :]
        elif what == "nul inside":
            body = body[:at] + b"\0" * value + body[at:] if at else body
        elif what == "glue":
            end = b""
        elif what == "nul after":
            end = b"\0" * value
        elif what == "junk after":
            end = bytes([value]) * 3 + b"\n"
        if what in {"none", "glue", "nul after", "junk after"}:
            whole.append(event["actor"] if isinstance(event["actor"], str) else event["actor"]["login"])
        text += body + end
    return text, whole


def read(folder, packed):
    path = folder / NAME
    path.write_bytes(packed)
    return read_file(path, NAME, EventRules())


def assert_accounted(tables):
    counts = tables.counts
    assert counts.events == counts.kept + counts.ignored + counts.duplicates + counts.quarantined
    assert counts.kept == len(tables.events)
    assert counts.quarantined == len(tables.quarantine)
    assert tables.keys.shape[1] == counts.events - counts.duplicates - sum(
        reason
        in {"cut event", "NUL bytes", "not JSON", "JSON, but not an event", "XML or HTML, not an event"}
        for reason in tables.quarantine["reason"]
    )


@settings(max_examples=100)
@given(plan=damages, piece=st.sampled_from([50, 300, 1000, 100_000]))
def test_damaged_text_costs_only_the_damaged_events(plan, piece, example_folder):
    text, whole = damaged_text(plan)
    with pytest.MonkeyPatch.context() as patch:  # windows that end anywhere in an event
        patch.setattr(inflate, "PIECE_BYTES", piece)
        patch.setattr(decode, "PATIENT_BYTES", 3 * piece)
        tables = read(example_folder, gzip.compress(text, 1))
    assert_accounted(tables)
    actors = tables.events["actor"].to_list()
    assert [actor for actor in actors if actor in set(whole)] == whole


@settings(max_examples=40)
@given(plan=damages, cut=st.floats(0, 1), members=st.integers(1, 3))
def test_truncated_gzip_costs_only_what_is_cut_off(plan, cut, members, example_folder):
    events = [make(index) for index in range(4 * len(plan))]
    text = b"".join(line(event) + b"\n" for event in events)
    step = len(text) // members + 1
    packed = b"".join(gzip.compress(text[at : at + step]) for at in range(0, len(text), step))
    packed = packed[: int(cut * len(packed))]
    tables = read(example_folder, packed)
    assert_accounted(tables)
    assert len(tables.events) >= inflated(packed).count(b"\n")


def inflated(packed):
    text = b""
    while packed:
        stream = zlib.decompressobj(31)
        text += stream.decompress(packed)
        packed = stream.unused_data
    return text


@settings(max_examples=30)
@given(
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4),
    members=st.integers(1, 3),
)
def test_flipped_bytes_in_gzip_never_raise(flips, members, example_folder):
    text = b"".join(line(make(index)) + b"\n" for index in range(40))
    packed = bytearray(gzip.compress(text) * members)
    for where, value in flips:
        packed[min(int(where * len(packed)), len(packed) - 1)] ^= value
    assert_accounted(read(example_folder, bytes(packed)))


@settings(max_examples=50)
@given(junk=st.binary(max_size=400), gzipped=st.booleans())
def test_any_bytes_at_all_are_accounted_for(junk, gzipped, example_folder):
    tables = read(example_folder, gzip.compress(junk) if gzipped else junk)
    assert_accounted(tables)
    assert tables.counts.kept == 0
