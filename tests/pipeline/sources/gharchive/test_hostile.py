"""Text made to do harm: nothing raises, nothing takes for ever, and the events beside it are all kept."""

import gzip
import json
import struct
import zlib

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.gharchive import inflate, reading, salvage
from pipeline.sources.gharchive.inflate import Limits
from pipeline.sources.gharchive.normalize import EventRules, resolve
from pipeline.sources.gharchive.reading import read_file
from pipeline.sources.gharchive.salvage import Salvaged, salvaged_event
from tests.pipeline.sources.gharchive.making import line, lines, modern, second, store
from tests.pipeline.sources.gharchive.test_damage import assert_accounted

NAME = "2015-01-01-0.json.gz"
LONG = b"9" * 5000
BESIDE = [modern(1), modern(2)]


def read(folder, text, limits=None):
    tables = read_file(store(folder / NAME, text), NAME, EventRules(), limits or Limits())
    assert_accounted(tables)
    tables.events.write_parquet(folder / "events.parquet")
    tables.quarantine.write_parquet(folder / "quarantine.parquet")
    return tables


def with_field(name, value):
    """An event in which a field holds any text at all."""
    return line(modern(9) | {name: "HERE"}).replace(b'"HERE"', value)


ODD = [
    b"5",
    b"-1",
    b"1.5",
    b"null",
    b"true",
    b'""',
    b"[]",
    b"[1]",
    b"{}",
    b'{"a":[{}]}',
    b"NaN",
    b"-Infinity",
]
ODD += [LONG, b"-" + LONG, LONG + b".5", b"1e999999", b'"\\ud83d"', b'"\\u0000"', b'"a\xffb"', b'"\xf0\x9f"']
ODD += [b"[" * 800 + b"]" * 800]
DEEP = [b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000]
FIELDS = ["type", "id", "actor", "repo", "repository", "url", "created_at", "payload", "public"]


@pytest.mark.parametrize("value", [*ODD, *DEEP], ids=lambda value: value[:12].decode("latin-1"))
def test_any_value_in_any_field_costs_at_most_its_event(value, tmp_path):
    for field in ["type", "actor", "payload"] if value in DEEP else FIELDS:
        text = line(BESIDE[0]) + b"\n" + with_field(field, value) + b"\n" + line(BESIDE[1])
        tables = read(tmp_path, text)
        assert tables.counts.events == 3, field
        assert {"1", "2"} <= set(tables.events["event_id"]), field
        assert not tables.events["event_id"].is_in([""]).any(), field
        glued = read_file(store(tmp_path / NAME, text.replace(b"\n", b"")), NAME, EventRules())
        assert_accounted(glued)
        assert glued.counts == tables.counts, field


@pytest.mark.parametrize("value", [b"5", b"null", b"[1]", b'{"a":1}', LONG])
def test_an_event_whose_type_is_not_text_is_quarantined(value, tmp_path):
    tables = read(tmp_path, with_field("type", value) + b"\n" + lines(BESIDE))
    assert tables.quarantine["reason"].to_list() == ["JSON, but not an event"]
    assert tables.counts.kept == 2


@pytest.mark.parametrize("field", ["id", "payload", "public"])
def test_a_number_of_absurd_length_counts_as_absent(field, tmp_path):
    tables = read(tmp_path, with_field(field, LONG) + b"\n" + lines(BESIDE))
    assert tables.counts.kept == 3
    assert tables.counts.quarantined == 0


def test_a_number_of_absurd_length_in_a_payload_that_is_needed_counts_as_absent():
    follow = modern(1, "FollowEvent", payload={"target": {"login": "cid"}, "member": 0})
    event = salvaged_event(line(follow).replace(b'"member":0', b'"member":' + LONG))
    assert event is not None
    assert resolve(event)[2] == "cid"


@pytest.mark.parametrize(
    "time",
    [
        *(
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59",
            "10000-01-01T00:00:00Z",
            "\0",
            "9" * 5000,
        ),
        *("2015-02-30T00:00:00Z", "2015-01-01T24:00:01Z", "2015-01-01T00:00:00+99:00"),
        "2012/99/18 00:00:05 -0700",
    ],
)
def test_times_out_of_range_are_quarantined(time, tmp_path):
    tables = read(tmp_path, lines([modern(9, created_at=time), *BESIDE]))
    assert tables.quarantine["reason"].to_list() == ["created_at is not a time"]
    assert tables.events["event_id"].to_list() == ["1", "2"]


def test_the_last_of_two_equal_keys_counts_as_everywhere_in_json(tmp_path):
    twice = line(modern(9)).replace(b'"type":', b'"type":"WatchEvent","type":')
    not_one = line(modern(8))[:-1] + b',"type":"User"}'
    for text in (twice + b"\n" + not_one, b"{" + twice + not_one):
        tables = read(tmp_path, text)
        assert tables.events["type"].to_list() == ["PushEvent"]


def test_a_byte_order_mark_costs_no_event(tmp_path):
    tables = read(tmp_path, b"\xef\xbb\xbf" + lines(BESIDE))
    assert tables.events["event_id"].to_list() == ["1", "2"]
    assert tables.quarantine["bytes"].to_list() == [3]


BLANKS = {
    "nothing": b"",
    "a line's end": b"\n",
    "many lines' ends": b"\n" * 300_000,
    "all blanks": b" \r\n\t" * 100_000,
}


@pytest.mark.parametrize("text", BLANKS.values(), ids=BLANKS)
def test_an_hour_of_blanks_is_an_hour_without_events(text, tmp_path):
    tables = read(tmp_path, text)
    assert (tables.counts.events, tables.damaged) == (0, False)
    assert dict(tables.events.schema)["created_at"] == pl.Datetime("us")


def test_an_empty_id_is_none(tmp_path):
    tables = read(tmp_path, lines([modern(1, actor=actor, id="") for actor in ("ann", "cid", "ann")]))
    assert tables.events["event_id"].n_unique() == tables.counts.kept == 2


def test_ids_that_only_look_alike_are_different_events(tmp_path):
    ids = ["7", "07", " 7", "+7", "7_0", "70", "٧", "-7", str(2**64 + 7), str(2**63), "x7"]
    tables = read(tmp_path, lines([modern(1, id=id_) for id_ in [*ids, *ids, 7]]))
    assert tables.events["event_id"].to_list() == ids
    assert tables.counts.duplicates == len(ids) + 1


UNITS = {
    "cut events": b'{"type":"PushEvent","actor":"a',
    "levels": b'{"type":"PushEvent","a":',
    "arrays": b'{"a":[',
    "braces": b"{",
    "brackets": b"[",
    "quotes": b'{"',
    "escapes": b'{"\\"',
    "numbers": b'{"a":[0,',
    "objects": b'{"a":1}',
    "blanks": b"{   ",
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_hostile_text_is_followed_at_most_twice_and_hides_no_event(unit, end, tmp_path, monkeypatch):
    followed = 0

    class Counting:
        def __init__(self, pattern):
            self.pattern = pattern

        def match(self, text, at):
            nonlocal followed
            match = self.pattern.match(text, at)
            followed += 1 if match is None else match.end() - at
            return match

    for name in ("MARK", "MEMBERS", "ELEMENTS"):
        monkeypatch.setattr(salvage, name, Counting(getattr(salvage, name)))
    # Thousands of levels, where there are some: more than are followed.
    text = unit * (60_000 // len(unit)) + end + line(modern(1)) + unit * 600 + end + line(modern(2))
    items = list(salvage.salvage(text, 0))
    assert [item.event.id for item in items if isinstance(item, Salvaged)] == ["1", "2"]
    assert followed < 4 * len(text)


def test_no_event_is_lost_where_the_reader_gives_up(tmp_path, monkeypatch):
    monkeypatch.setattr(inflate, "PIECE_BYTES", 20_000)
    limits = Limits(event_bytes=20_000)
    unit = b'{"type":"PushEvent","actor":"a'
    for length in range(19_800, 27_000, 601):
        text = (unit * 1000)[:length] + line(modern(1)) + (unit * 1000)[:length] + line(modern(2)) + b"\n"
        tables = read(tmp_path, text, limits)
        assert tables.events["event_id"].to_list() == ["1", "2"], length
        assert tables.damaged


def test_levels_without_end_hold_no_event_but_the_innermost(tmp_path):
    depth = 20_000
    text = b'{"type":"PushEvent","a":' * depth + line(modern(1)) + b"}" * depth + b"\n" + line(modern(2))
    tables = read(tmp_path, text)
    assert tables.events["event_id"].to_list()[-1] == "2"


def headers_within_headers(header, stream_text):
    """Sixteen kilobytes of gzip headers that all go on to the one stream at their end, which breaks."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = deflate.compress(stream_text) + deflate.flush(zlib.Z_SYNC_FLUSH) + b"\x07\xff"
    room = 16_384 - len(stream)
    return (
        b"".join(header(room - at) for at in range(0, room - 12, 12)).ljust(room - 1, b"\1") + b"\0" + stream
    )


HEADERS = {
    "a name up to the stream": lambda _left: b"\x1f\x8b\x08\x08" * 3,
    "a field up to the stream": lambda left: b"\x1f\x8b\x08\x04\1\1\1\1\1\xff" + struct.pack("<H", left - 12),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_headers_within_headers_are_followed_a_few_times_and_hide_no_member(header, tmp_path):
    path = tmp_path / NAME
    path.write_bytes(headers_within_headers(header, lines(BESIDE) * 200) + gzip.compress(lines([modern(3)])))
    tables = read_file(path, NAME, EventRules())
    assert_accounted(tables)
    assert tables.events["event_id"].to_list() == ["1", "2", "3"]
    assert tables.counts.events < 20 * 400  # each time the stream is followed it gives 400


def test_a_header_that_skips_what_follows_hides_no_member(tmp_path):
    members = [gzip.compress(lines([modern(number)]), mtime=0) for number in range(1, 60)]
    members[0] = members[0][:3] + b"\x04" + members[0][4:10] + b"\xff\x1f" + members[0][10:]
    path = tmp_path / NAME
    path.write_bytes(b"".join(members))
    tables = read_file(path, NAME, EventRules())
    assert tables.events["event_id"].to_list() == [str(number) for number in range(2, 60)]


def test_broken_places_without_number_are_a_few_notes(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff\0\2\0\xfd\xffxx\7" * 1000 + gzip.compress(lines(BESIDE)))
    tables = read_file(path, NAME, EventRules())
    assert_accounted(tables)
    assert tables.counts.kept == 2
    assert len(tables.damage) == 21
    assert tables.damage[-1] == "980 more such places"


def test_copies_are_dropped_while_they_are_read(tmp_path, monkeypatch):
    resolved = 0

    def counted(event):
        nonlocal resolved
        resolved += 1
        return resolve(event)

    monkeypatch.setattr(reading, "resolve", counted)
    monkeypatch.setattr(reading, "FEW_EVENTS", 100)
    nameless = [modern(number) | {"actor": {}} for number in (2, 3)]
    tables = read(tmp_path, lines([modern(1), *nameless]) * 10_000 + lines([modern(2)]) * 10_000)
    assert tables.events["event_id"].to_list() == ["1", "2"]
    assert tables.quarantine["offset"].to_list() == [len(lines([modern(1), nameless[0]]))]
    assert vars(tables.counts) == {
        "events": 40_000, "kept": 2, "ignored": 0, "duplicates": 39_997, "quarantined": 1,
    }  # fmt: skip
    assert resolved < 22_000  # of copies only those that are not read yet, and those of the first blocks


def test_of_pieces_without_number_the_first_have_rows_and_the_others_one_together(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LISTED_FRAGMENTS", 5)
    text = b"".join(line(modern(number)) + b"\n{oops\n" for number in range(1, 20))
    tables = read_file(store(tmp_path / NAME, text), NAME, EventRules())
    assert vars(tables.counts) == {"events": 25, "kept": 19, "ignored": 0, "duplicates": 0, "quarantined": 6}
    last = tables.quarantine.row(-1, named=True)
    assert last["reason"] == "14 more pieces that are not events"
    assert last["bytes"] == 14 * len(b"{oops")
    assert text[last["offset"] :].startswith(b"{oops\n" + line(modern(7)))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("PushEvent"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
events = st.builds(
    lambda event, odd: event | odd,
    st.sampled_from([modern(9), second(), modern(9, "FollowEvent"), {}]),
    st.dictionaries(st.sampled_from([*FIELDS, "more"]), values, max_size=4),
)


@settings(max_examples=30)
@given(odd=st.lists(events, max_size=4), ascii_only=st.booleans(), end=st.sampled_from(["\n", "", " ", "\0"]))
def test_events_of_any_form_are_accounted_for_and_cost_no_other(odd, ascii_only, end, example_folder):
    lines = [json.dumps(event, ensure_ascii=ascii_only) for event in [BESIDE[0], *odd, BESIDE[1]]]
    text = end.join(lines).encode("utf-8", "surrogatepass")
    tables = read(example_folder, text)
    assert {"1", "2"} <= set(tables.events["event_id"])
    assert not tables.damage


@settings(max_examples=50)
@given(value=values)
def test_what_json_reads_salvage_follows_to_its_end(value):
    text = json.dumps({"odd": value, "type": "PushEvent"}).encode()
    (item,) = salvage.salvage(text, 0)
    assert isinstance(item, Salvaged)
    assert item.text == text
