"""The event table keeps its contract: numbering, order, splits, statistics, reading only what is whole."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.event_table import (
    SCHEMAS,
    EventTable,
    Split,
    build_event_table,
    check_event_table,
    read_event_table,
    table_2_stats,
    write_event_table,
)

NAMES = ["ann", "bob", "cat", "dan"]
BEGIN = datetime(2020, 1, 1)
SPLIT = Split(datetime(2020, 4, 10))


def rows(*events: tuple[str, str, str, datetime]) -> pl.DataFrame:
    """Events as (source, target, type, time); a Follow is an association."""
    frame = pl.DataFrame(
        events,
        schema={"source": pl.String, "target": pl.String, "type": pl.String, "created_at": pl.Datetime("us")},
        orient="row",
    )
    kind = pl.when(pl.col("type") == "Follow").then(pl.lit("association")).otherwise(pl.lit("communication"))
    return frame.with_columns(kind=kind)


def graph(*entries: tuple[str, str, str, str]) -> pl.DataFrame:
    """Association entries as (relation, snapshot, source, target)."""
    return pl.DataFrame(entries, schema=["relation", "snapshot", "source", "target"], orient="row")


def built(**changes) -> EventTable:
    arguments: dict[str, Any] = {
        "name": "small",
        "title": "Small",
        "description": "Four people.",
        "rows": rows(
            ("bob", "ann", "Mail", datetime(2020, 1, 11)),
            ("ann", "bob", "Mail", BEGIN),
            ("cat", "bob", "Follow", datetime(2020, 4, 5)),
            ("cat", "ann", "Mail", datetime(2020, 4, 10)),
            ("ann", "cat", "Mail", datetime(2020, 4, 9, 23, 59, 59)),
        ),
        "node_names": NAMES,
        "split": SPLIT,
        "own_relations": ["Follow"],
        "associations": graph(
            ("Follow", "initial", "ann", "bob"),
            ("Follow", "initial", "ann", "bob"),
            ("Follow", "initial", "bob", "ann"),
            ("Follow", "final", "cat", "bob"),
            ("Family", "initial", "dan", "ann"),
        ),
    }
    return build_event_table(**(arguments | changes))


def test_nodes_are_numbered_by_their_place_and_events_by_time():
    table = built()
    assert table.nodes.select("node", "name").rows() == list(enumerate(NAMES))
    assert table.events.select("idx", "u", "v", "split").rows() == [
        (0, 0, 1, "train"),
        (1, 1, 0, "train"),
        (2, 2, 1, "validation"),
        (3, 0, 2, "validation"),
        (4, 2, 0, "test"),
    ]


def test_columns_and_types_are_exactly_those_of_the_contract():
    table = built()
    assert {frame: dict(getattr(table, frame).schema) for frame in SCHEMAS} == SCHEMAS


def test_events_at_one_moment_keep_the_order_of_the_source():
    same = [(NAMES[place % 3], "dan", f"Mail{place}", BEGIN) for place in range(50)]
    table = built(rows=rows(*same, ("ann", "bob", "Mail", datetime(2020, 5, 1))))
    assert table.events["type"].to_list()[:50] == [f"Mail{place}" for place in range(50)]


def test_validation_is_the_last_tenth_of_the_training_period():
    assert built().metadata["split"] == {
        "validation_start": "2020-03-31T00:00:00",
        "test_start": "2020-04-10T00:00:00",
    }


def test_the_boundary_is_read_in_the_time_zone_of_the_split():
    assert Split(datetime(2013, 9, 1), "America/Toronto").boundary == datetime(2013, 9, 1, 4)
    assert Split(datetime(2013, 1, 1), "America/Toronto").boundary == datetime(2013, 1, 1, 5)
    assert Split(datetime(2013, 9, 1), "America/Toronto", clock="local").boundary == datetime(2013, 9, 1)


def test_stats_count_training_with_validation_and_distinct_entries_of_own_relations():
    assert table_2_stats(built()) == {
        "nodes": 4,
        "initial_associations": 2,
        "final_associations": 1,
        "train_communications": 3,
        "train_associations": 1,
        "test_communications": 1,
        "test_associations": 0,
    }


def test_two_entries_can_count_as_one_association():
    assert built(entries_per_association=2).metadata["stats"]["initial_associations"] == 1


def test_an_entry_in_two_own_relations_is_one_entry_of_the_graph():
    both = graph(("Follow", "initial", "ann", "bob"), ("Family", "initial", "ann", "bob"))
    table = built(associations=both, own_relations=["Follow", "Family"])
    assert table.metadata["stats"]["initial_associations"] == 1


def test_own_relations_come_first():
    assert built().metadata["relations"] == ["Follow", "Family"]
    assert built().metadata["own_relations"] == ["Follow"]


def test_features_are_kept_by_node():
    table = built(features=[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert table.nodes["features"].to_list()[1] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rows": rows(("ann", "ann", "Mail", BEGIN), ("ann", "bob", "Mail", datetime(2021, 1, 1)))},
            "self-loops",
        ),
        ({"rows": rows(("eve", "ann", "Mail", BEGIN))}, "'eve' has events"),
        ({"rows": rows(("ann", "bob", "Mail", BEGIN))}, "no test event"),
        ({"rows": rows(("ann", "bob", "Mail", datetime(2021, 1, 1)))}, "no training event"),
        ({"rows": rows()}, "has no events"),
        ({"node_names": [*NAMES, "ann"]}, "'ann' is listed twice"),
        ({"features": [[1.0]]}, "1 rows of features for 4 nodes"),
        ({"own_relations": []}, "own_relations"),
        ({"entries_per_association": 3}, "entries_per_association is 3"),
        ({"associations": graph(("Follow", "midway", "ann", "bob"))}, "midway"),
    ],
)
def test_what_breaks_the_contract_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        built(**changes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_zone": "Toronto"}, "time_zone"),
        *(({"time_zone": zone}, "time_zone") for zone in ("localtime", "Factory", "right/UTC", "posixrules")),
        ({"clock": "sidereal"}, "clock"),
        ({"test_start": datetime.min, "time_zone": "Asia/Tokyo"}, "outside the years 1 to 9999"),
        ({"test_start": datetime.max, "time_zone": "America/Toronto"}, "outside the years 1 to 9999"),
    ],
)
def test_a_split_that_cannot_be_is_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        replace(Split(BEGIN), **settings)


@pytest.mark.parametrize(
    ("frame", "change", "message"),
    [
        ("events", pl.col("u").alias("v"), "self-loops"),
        ("events", pl.col("created_at").reverse(), "not sorted"),
        ("events", pl.col("idx") + 1, "idx"),
        ("events", pl.lit("train").alias("split"), "no test event"),
        ("events", pl.col("split").reverse(), "overlap"),
        ("events", pl.lit("quarrel").alias("kind"), "quarrel"),
        ("events", pl.lit(9, pl.Int32).alias("u"), "outside"),
        ("events", pl.lit(None, pl.String).alias("type"), "empty values"),
        ("nodes", (pl.col("node") * 2).cast(pl.Int32), "dense"),
        ("nodes", pl.lit("x").alias("name"), "repeated"),
        ("associations", pl.lit(-1, pl.Int32).alias("v"), "outside"),
        ("associations", pl.lit("final").alias("snapshot"), "stats"),
        ("association_events", pl.lit(1).alias("more"), "columns"),
    ],
)
def test_each_violation_is_told_and_nothing_is_written(frame, change, message, tmp_path):
    table = built()
    wrong = replace(table, **{frame: getattr(table, frame).with_columns(change)})
    assert any(message in violation for violation in check_event_table(wrong))
    with pytest.raises(ValueError, match="is not written"):
        write_event_table(wrong, tmp_path / "small")
    assert not (tmp_path / "small").exists()


def test_a_table_is_read_back_as_written(tmp_path):
    table = built(features=[[1.0], [2.0], [3.0], [4.0]])
    written = write_event_table(table, tmp_path)
    read = read_event_table(tmp_path)
    for frame in SCHEMAS:
        assert getattr(read, frame).equals(getattr(table, frame))
    assert read.metadata == written == json.loads((tmp_path / "dataset.json").read_text())
    assert check_event_table(read) == []


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for folder in ("first", "second"):
        write_event_table(built(), tmp_path / folder)
    for file in sorted(path.name for path in (tmp_path / "first").iterdir()):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


def test_the_fingerprint_changes_with_the_data_but_not_with_the_title(tmp_path):
    base = write_event_table(built(), tmp_path / "a")["fingerprint"]
    assert write_event_table(built(title="Other"), tmp_path / "b")["fingerprint"] == base
    later = Split(datetime(2020, 4, 9))
    assert write_event_table(built(split=later), tmp_path / "c")["fingerprint"] != base
    assert write_event_table(built(own_relations=["Family"]), tmp_path / "d")["fingerprint"] != base


@pytest.mark.parametrize("frame", SCHEMAS)
def test_a_half_replaced_table_is_refused(frame, tmp_path):
    write_event_table(built(), tmp_path)
    written: pl.DataFrame = getattr(built(), frame)
    pl.concat([written, written.head(1)]).with_row_index("more").write_parquet(tmp_path / f"{frame}.parquet")
    with pytest.raises(ValueError, match=rf"{frame}.parquet is not the file .* half replaced"):
        read_event_table(tmp_path)
    (tmp_path / f"{frame}.parquet").unlink()
    with pytest.raises(ValueError, match="half replaced"):
        read_event_table(tmp_path)


def test_an_absent_table_says_what_to_build(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="build the dataset's event_table"):
        read_event_table(tmp_path)


def test_a_damaged_description_says_what_to_build(tmp_path: Path):
    (tmp_path / "dataset.json").write_text('{"name": ')
    with pytest.raises(ValueError, match="not JSON"):
        read_event_table(tmp_path)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 200), st.booleans()),
        min_size=1,
        max_size=40,
    )
)
def test_any_events_on_both_sides_of_the_split_make_a_table_that_keeps_its_contract(drawn):
    events = [
        (NAMES[u], NAMES[(u + step) % 4], "Follow" if tie else "Mail", BEGIN + timedelta(hours=24 * day))
        for u, step, day, tie in drawn
    ]
    anchors = [("ann", "bob", "Mail", BEGIN), ("ann", "bob", "Mail", BEGIN + timedelta(days=150))]
    table = built(rows=rows(*events, *anchors))
    assert check_event_table(table) == []
    stats = table.metadata["stats"]
    assert sum(count for key, count in stats.items() if key.startswith(("train", "test"))) == len(events) + 2
    tested = table.events.filter(pl.col("split") == "test")
    assert (tested["created_at"] >= SPLIT.boundary).all()
