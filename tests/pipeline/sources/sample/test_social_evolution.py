import bz2
import csv
import io
import zipfile
from collections import Counter
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.sources.sample import sample_paths
from pipeline.sources.sample.social_evolution import RELATIONS, SURVEYS

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def csv_bodies(built_world: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(sample_paths(built_world).social_evolution) as archive:
        bodies = {name.removeprefix("SocialEvolution/"): archive.read(name) for name in archive.namelist()}
    return bodies | {"Proximity.csv": bz2.decompress(bodies.pop("Proximity.csv.bz2"))}


def rows_of(body: bytes) -> Rows:
    return list(csv.DictReader(io.StringIO(body.decode("latin-1"))))


def duplicates(body: bytes) -> float:
    lines = body.splitlines()[1:]
    return 1 - len(set(lines)) / len(lines)


def test_the_five_files_have_their_true_columns(csv_bodies: dict[str, bytes]):
    assert {name: body.splitlines()[0].decode().replace('"', "") for name, body in csv_bodies.items()} == {
        "Calls.csv": "user_id,time_stamp,duration,dest_user_id_if_known,dest_phone_hash",
        "SMS.csv": "user.id,time,incoming,dest.user.id.if.known,dest.phone.hash",
        "Proximity.csv": "user.id,remote.user.id.if.known,time,prob2",
        "RelationshipsFromSurveys.csv": "id.A,id.B,relationship,survey.date",
        "Subjects.csv": "user_id,year_school,floor",
    }


def test_calls_are_unsorted_with_empty_ids_self_loops_negative_durations_and_duplicates(
    csv_bodies: dict[str, bytes],
):
    rows = rows_of(csv_bodies["Calls.csv"])
    times = [datetime.strptime(row["time_stamp"], "%Y-%m-%d %H:%M:%S") for row in rows]
    assert times != sorted(times)
    assert any(row["user_id"] == "" for row in rows)
    assert any(row["dest_user_id_if_known"] == "" for row in rows)
    assert any(row["user_id"] == row["dest_user_id_if_known"] for row in rows)
    assert any(int(row["duration"]) < 0 for row in rows)
    assert duplicates(csv_bodies["Calls.csv"]) > 0.02


def test_messages_are_44_percent_duplicates_and_no_utf8(csv_bodies: dict[str, bytes]):
    rows = rows_of(csv_bodies["SMS.csv"])
    assert duplicates(csv_bodies["SMS.csv"]) == pytest.approx(0.44, abs=0.02)
    assert any(row["user.id"] == row["dest.user.id.if.known"] for row in rows)
    assert {row["incoming"] for row in rows} == {"0", "1"}
    with pytest.raises(UnicodeDecodeError):
        csv_bodies["SMS.csv"].decode()


def test_proximity_has_empty_prob2_in_a_fifth_and_rows_at_and_below_the_threshold(
    csv_bodies: dict[str, bytes],
):
    rows = rows_of(csv_bodies["Proximity.csv"])
    empty = sum(row["prob2"] == "" for row in rows) / len(rows)
    assert 0.15 < empty < 0.25
    assert any(row["prob2"] == "0.8" for row in rows)
    assert any(row["prob2"] and float(row["prob2"]) < 0.8 for row in rows)
    assert any(row["user.id"] == row["remote.user.id.if.known"] for row in rows)
    assert any(row["remote.user.id.if.known"] == "" for row in rows)
    assert duplicates(csv_bodies["Proximity.csv"]) > 0.01


def test_surveys_hold_five_relations_six_times_directed_and_with_self_rows(csv_bodies: dict[str, bytes]):
    rows = rows_of(csv_bodies["RelationshipsFromSurveys.csv"])
    assert Counter(row["relationship"] for row in rows).keys() == RELATIONS.keys()
    assert {row["survey.date"] for row in rows} == {str(day) for day in SURVEYS}
    close = {(row["id.A"], row["id.B"]) for row in rows if row["relationship"] == "CloseFriend"}
    assert any(a == b for a, b in close)
    assert any((b, a) not in close for a, b in close)


def test_close_friends_are_nearest_the_planted_graph(csv_bodies: dict[str, bytes], built_world: Path):
    planted = set(pl.read_parquet(Lake(built_world).known_graph("social_evolution")).iter_rows())
    overlap = {}
    for relation in RELATIONS:
        named = {
            (row["id.A"], row["id.B"])
            for row in rows_of(csv_bodies["RelationshipsFromSurveys.csv"])
            if row["relationship"] == relation and row["survey.date"] == "2009-04-17"
        }
        overlap[relation] = len(named & planted) / len(named | planted)
    assert max(overlap, key=overlap.__getitem__) == "CloseFriend"
    assert 0.5 < overlap["CloseFriend"] < 0.95


def test_subjects_cover_everybody_with_some_answers_empty(csv_bodies: dict[str, bytes]):
    rows = rows_of(csv_bodies["Subjects.csv"])
    assert [row["user_id"] for row in rows] == [str(number + 1) for number in range(46)]
    assert any(row["year_school"] == "" for row in rows)
    assert any(row["floor"] == "" for row in rows)


def test_some_4500_events_are_left_after_the_usual_rules(csv_bodies: dict[str, bytes]):
    events = {
        (row["user_id"], row["dest_user_id_if_known"], "call", row["time_stamp"])
        for row in rows_of(csv_bodies["Calls.csv"])
    }
    events |= {
        (row["user.id"], row["dest.user.id.if.known"], "sms", row["time"])
        for row in rows_of(csv_bodies["SMS.csv"])
    }
    events |= {
        (row["user.id"], row["remote.user.id.if.known"], "proximity", row["time"])
        for row in rows_of(csv_bodies["Proximity.csv"])
        if row["prob2"] and float(row["prob2"]) > 0.8
    }
    left = [(u, v, time) for u, v, _, time in events if u and v and u != v and time >= "2008-09-11"]
    assert 4_000 < len(left) < 5_000
    assert sum(time >= "2009-05-01" for _, _, time in left) > 700
