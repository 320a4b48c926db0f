import gzip
import json

import pytest

from pipeline.sources.gharchive import decode as decoding
from pipeline.sources.gharchive import inflate
from pipeline.sources.gharchive.decode import decode
from pipeline.sources.gharchive.inflate import Damage, Limits
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import read_file
from tests.pipeline.sources.gharchive.making import line, lines, modern, second, store

NAME = "2015-01-01-0.json.gz"


def read(path, limits=None):
    """Ids of the events, (offset, reason) of what is not one, and the file's damage."""
    damage = Damage()
    blocks = list(decode(path, damage, limits or Limits()))
    ids = [event.id for block in blocks for event in block.events]
    return (
        ids,
        [(part.offset, part.reason) for block in blocks for part in block.fragments],
        list(damage.notes),
    )


def read_text(tmp_path, text, limits=None):
    return read(store(tmp_path / NAME, text), limits)


def test_clean_lines_are_events(tmp_path):
    assert read_text(tmp_path, lines([modern(1), modern(2)])) == (["1", "2"], [], [])


def test_blank_lines_and_a_missing_last_line_end_do_not_matter(tmp_path):
    text = b"\n" + lines([modern(1)]) + b" \r\n\n" + line(modern(2))
    assert read_text(tmp_path, text) == (["1", "2"], [], [])


def test_events_glued_on_one_line_are_all_read(tmp_path):
    text = line(modern(1)) + line(modern(2)) + b" " + line(modern(3)) + b"\n" + line(modern(4))
    assert read_text(tmp_path, text) == (["1", "2", "3", "4"], [], [])


def test_a_file_without_separators_is_read_in_bounded_windows(tmp_path):
    events = [modern(number) for number in range(3000)]
    text = b"".join(map(line, events))
    assert read_text(tmp_path, text) == ([event["id"] for event in events], [], [])


def test_a_cut_event_glued_to_the_next_costs_only_itself(tmp_path):
    one = line(modern(1))
    for cut in range(1, len(one)):
        ids, fragments, _ = read_text(tmp_path, one[:cut] + line(modern(2)) + b"\n" + line(modern(3)))
        assert ids == ["2", "3"], one[:cut]
        assert [offset for offset, _ in fragments] == [0]


def test_a_truncated_last_line_is_set_aside_with_its_offset(tmp_path):
    head = lines([modern(1)])
    assert read_text(tmp_path, head + line(modern(2))[:50]) == (["1"], [(len(head), "cut event")], [])


def test_runs_of_nul_bytes_are_set_aside(tmp_path):
    one = line(modern(1))
    text = one + b"\0" * 5000 + line(modern(2)) + b"\n\0\0\n" + line(modern(3))
    ids, fragments, _ = read_text(tmp_path, text)
    assert ids == ["1", "2", "3"]
    second_run = text.index(b"\n\0") + 1
    assert fragments == [(len(one), "NUL bytes"), (second_run, "NUL bytes")]


def test_broken_utf8_in_a_field_nobody_needs_costs_nothing(tmp_path):
    broken = line(modern(1)).replace("wörds".encode(), b"w\xf6\xffrds")
    text = broken + b"\n" + line(modern(2)) + b"\n"
    assert read_text(tmp_path, text) == (["1", "2"], [], [])
    beside_damage = text + b"{"
    assert read_text(tmp_path, beside_damage)[0] == ["1", "2"]


def test_a_lone_surrogate_in_a_message_costs_nothing(tmp_path):
    odd = line(modern(1)).replace("wörds".encode(), b"\\ud83d words")
    assert read_text(tmp_path, odd + b"\n" + line(modern(2))) == (["1", "2"], [], [])


def test_a_field_of_an_unheard_of_form_costs_only_that_field(tmp_path):
    odd = modern(1) | {"actor": [1, 2], "repo": "tool", "url": 5}
    assert read_text(tmp_path, lines([odd, modern(2)])) == (["1", "2"], [], [])


def test_json_that_is_not_an_event_is_set_aside(tmp_path):
    text = b'{"message":"rate limited"}\n' + lines([modern(1)]) + b"17\n[]\nnull\n" + b'{"type":"User"}\n'
    ids, fragments, _ = read_text(tmp_path, text)
    assert ids == ["1"]
    assert [reason for _, reason in fragments] == ["JSON, but not an event"] * 5


def pretty(events):
    return [json.dumps(event, indent=2).encode() for event in events]


FORMS = {
    "one after the other": lambda texts: b"\n".join(texts) + b"\n",
    "glued": b"".join,
    "a list": lambda texts: b"[\n" + b",\n".join(texts) + b"\n]\n",
    "commas at the lines' beginning": lambda texts: b"[" + b"\n,".join(texts) + b"]",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("write", [pretty, lambda events: list(map(line, events))], ids=["pretty", "compact"])
@pytest.mark.parametrize("piece", [70, 1000, 100_000])
def test_events_over_many_lines_or_in_a_list_are_read(tmp_path, monkeypatch, form, write, piece):
    monkeypatch.setattr(inflate, "PIECE_BYTES", piece)
    events = [modern(number) for number in range(1, 600 if piece > 1000 else 40)]
    assert read_text(tmp_path, form(write(events))) == ([event["id"] for event in events], [], [])


def test_damage_to_an_event_over_many_lines_costs_only_that_event(tmp_path):
    texts = pretty([modern(number) for number in range(1, 1000)])
    texts[500] = texts[500][:200]
    texts[700] = texts[700].replace(b'"payload": {', b'"payload": {"cut')
    texts[800] = line(modern(801))
    ids, fragments, damage = read_text(tmp_path, b"\n".join(texts))
    assert ids == [str(number) for number in range(1, 1000) if number not in {501, 701}]
    assert len(fragments) >= 2
    assert not damage


def test_a_line_cut_where_a_value_is_due_does_not_swallow_the_events_after_it(tmp_path):
    cut = line(modern(1)).split(b'"payload":')[0] + b'"payload":'
    ids, _, _ = read_text(tmp_path, b"\n".join([cut, line(modern(2)), b"}", b"oops", line(modern(3))]))
    assert ids == ["2", "3"]


def test_lines_without_end_that_are_no_events_are_few_things(tmp_path):
    text = (
        lines([modern(1)])
        + b"x\n" * 100_000
        + lines([modern(2)])
        + b'{"a":1}\n' * 100_000
        + lines([modern(3)])
    )
    ids, fragments, _ = read_text(tmp_path, text)
    assert ids == ["1", "2", "3"]
    assert len(fragments) < 100


def test_the_type_event_is_an_event(tmp_path):
    assert read_text(tmp_path, lines([modern(1, "Event")])) == (["1"], [], [])


def test_several_gzip_members_are_one_text(tmp_path):
    text = lines([modern(number) for number in range(9)])
    path = tmp_path / NAME
    path.write_bytes(gzip.compress(text[:100]) + gzip.compress(b"") + gzip.compress(text[100:]) + b"\0" * 512)
    assert read(path) == ([str(number) for number in range(9)], [], [])


def test_truncated_gzip_gives_every_event_before_the_cut(tmp_path):
    text = lines([modern(number) for number in range(2000)])
    path = tmp_path / NAME
    packed = gzip.compress(text)
    path.write_bytes(packed[: len(packed) // 2])
    ids, fragments, damage = read(path)
    assert damage == ["gzip ends early"]
    assert ids == [str(number) for number in range(len(ids))]
    assert len(ids) > 500
    assert len(fragments) <= 1


def test_a_broken_member_does_not_cost_the_next(tmp_path):
    good, other = lines([modern(1), modern(2)]), lines([modern(number) for number in range(3, 400)])
    broken = bytearray(gzip.compress(good))
    broken[-6] ^= 255  # the checksum
    path = tmp_path / NAME
    path.write_bytes(bytes(broken) + gzip.compress(other))
    ids, _, damage = read(path)
    assert ids == [str(number) for number in range(1, 400)]
    assert len(damage) == 1
    assert damage[0].startswith("gzip broken near byte")


def test_bytes_after_gzip_that_are_not_gzip_are_told(tmp_path):
    path = store(tmp_path / NAME, lines([modern(1)]))
    path.write_bytes(path.read_bytes() + b"<html>")
    ids, _, damage = read(path)
    assert ids == ["1"]
    assert damage[0].startswith("bytes that are not gzip")


def test_an_xml_error_body_is_one_thing_set_aside(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>")
    assert read(path) == ([], [(0, "XML or HTML, not an event")], ["not gzip"])


def test_an_hour_saved_without_gzip_is_read(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(lines([modern(1), modern(2)]))
    assert read(path) == (["1", "2"], [], ["not gzip"])


def test_a_zero_byte_file_is_empty_and_damaged(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(b"")
    assert read(path) == ([], [], ["empty file"])


def test_an_empty_gzip_is_an_hour_without_events(tmp_path):
    assert read_text(tmp_path, b"") == ([], [], [])


def test_a_decompression_bomb_is_stopped(tmp_path):
    path = store(tmp_path / NAME, lines([modern(1)]) + b"\n" * (20 << 20))
    ids, _, damage = read(path)
    assert ids == ["1"]
    assert "more than the limit" in damage[0]


def test_an_absurdly_long_line_is_stopped_and_what_follows_is_read(tmp_path):
    text = lines([modern(1)]) + b'{"id":"' + b"x" * 900_000 + b"\n" + lines([modern(2)])
    ids, fragments, damage = read_text(tmp_path, text, Limits(event_bytes=200_000))
    assert ids == ["1", "2"]
    assert fragments
    assert damage
    assert "no event ends within 200,000 bytes" in damage[0]


def test_an_absurd_depth_is_not_an_event(tmp_path):
    deep = b'{"type":"PushEvent","payload":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"
    ids, fragments, _ = read_text(tmp_path, deep + lines([modern(1)]))
    assert ids == ["1"]
    assert [offset for offset, _ in fragments] == [0]


def test_a_number_of_absurd_length_is_not_an_event(tmp_path):
    long = line(modern(1) | {"actor": {"id": 0, "login": "ann"}}).replace(b'"id":0', b'"id":' + b"9" * 5000)
    ids, _, _ = read_text(tmp_path, long + b"\n" + lines([modern(2)]))
    assert ids[-1] == "2"


def test_an_event_longer_than_many_windows_is_one_event(tmp_path):
    long = modern(1, payload={"commits": [{"sha": "ab", "message": "}{ words " * 5}] * 20_000})
    text = line(long) + line(modern(2)) + b"\n" + line(long | {"id": "3"}) + b"\n" + line(modern(4))
    assert read_text(tmp_path, text) == (["1", "2", "3", "4"], [], [])


def test_a_damaged_file_without_separators_loses_only_what_is_cut(tmp_path, monkeypatch):
    # A tenth of the true sizes, so that a file of a tenth is read in as many windows.
    monkeypatch.setattr(inflate, "PIECE_BYTES", inflate.PIECE_BYTES // 10)
    monkeypatch.setattr(decoding, "PATIENT_BYTES", decoding.PATIENT_BYTES // 10)
    whole = [line(modern(number)) for number in range(1200)]
    text = b"".join(body[:90] if number % 100 == 50 else body for number, body in enumerate(whole))
    ids, fragments, _ = read_text(tmp_path, text)
    assert ids == [str(number) for number in range(1200) if number % 100 != 50]
    assert len(fragments) == 12


def test_a_number_no_column_can_hold_counts_as_absent(tmp_path):
    event = modern(1) | {"actor": {"id": 10**24, "login": "ann"}}
    tables = read_file(store(tmp_path / NAME, lines([event])), NAME, EventRules())
    assert tables.events["actor_id"].to_list() == [None]


@pytest.mark.parametrize("name", ["inflated_bytes", "ratio", "event_bytes"])
def test_limits_are_positive(name):
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Limits(**{name: 0})


def test_a_reading_tells_where_every_event_went(tmp_path):
    events = [
        modern(1),
        modern(1),  # again
        modern(2, actor="bob"),  # in a repository of one's own
        modern(3, actor="BOB"),
        modern(4, "GistEvent"),
        modern(5) | {"actor": {}},
        modern(5) | {"actor": {}},
    ]
    text = lines(events) + b"{oops\n"
    tables = read_file(store(tmp_path / NAME, text), NAME, EventRules())
    assert vars(tables.counts) == {"events": 8, "kept": 1, "ignored": 3, "duplicates": 2, "quarantined": 2}
    assert tables.quarantine["reason"].to_list() == ["no actor", "not JSON"]
    assert tables.quarantine["offset"].to_list() == [text.index(line(events[5])), text.index(b"{oops")]
    assert tables.quarantine["excerpt"][0] == line(events[5]).decode()[:400]
    assert tables.damaged


def test_events_without_ids_have_stable_ones(tmp_path):
    path = store(tmp_path / NAME, lines([second(), second(actor="cid"), second()]))
    first, again = (read_file(path, NAME, EventRules()) for _ in range(2))
    assert first.counts.duplicates == 1
    assert first.events["event_id"].to_list() == again.events["event_id"].to_list()
    assert first.events["event_id"].n_unique() == 2
