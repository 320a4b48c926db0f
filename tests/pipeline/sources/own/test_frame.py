"""A frame of events becomes the event table that the same rows in a file become."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.event_table import SCHEMAS, read_event_table
from pipeline.sources.own.frame import event_table_from_frame
from pipeline.sources.own.table import own_table

START = datetime(2024, 1, 1)
MAILS = pl.DataFrame(
    {
        "from": [1, 2, 3, 1, 2, None, 3, 3, 1, 2],
        "to": [2, 1, 1, 3, 3, 1, 3, 2, 2, 1],
        "sent": [START + timedelta(days=day) for day in range(10)],
        "what": ["mail", "mail", "befriended", "mail", "mail"] * 2,
    }
)
COLUMNS: dict[str, Any] = {"source": "from", "target": "to", "time": "sent"}
TOML = """
events = { file = "mails.parquet", source = "from", target = "to", time = "sent", type = "what" }
kinds = { association = ["befriended"] }
split = { test_start = 2024-01-08 }
"""


def test_a_frame_gives_the_table_of_the_same_rows_in_a_file(tmp_path: Path) -> None:
    folder = event_table_from_frame(
        MAILS,
        tmp_path / "mails",
        **COLUMNS,
        type="what",
        associations=["befriended"],
        test_start=date(2024, 1, 8),
    )
    own = tmp_path / "own"
    own.mkdir()
    MAILS.write_parquet(own / "mails.parquet")
    (own / "dataset.toml").write_text(TOML)
    ours, expected = read_event_table(folder), own_table("mails", own)
    for frame in SCHEMAS:
        assert getattr(ours, frame).equals(getattr(expected, frame)), frame
    del ours.metadata["sha256"], ours.metadata["fingerprint"]
    assert ours.metadata == {**expected.metadata, "title": "mails"}


def test_without_a_test_start_the_last_fifth_of_the_events_is_tested_on(tmp_path: Path) -> None:
    table = read_event_table(event_table_from_frame(MAILS.drop("what"), tmp_path / "mails", **COLUMNS))
    assert table.metadata["split"]["test_start"] == "2024-01-09T00:00:00"
    assert set(table.events["kind"]) == {"communication"}


@pytest.mark.parametrize(
    ("frame", "arguments", "reason"),
    [
        (MAILS, {"time": "when"}, "no column 'when'; it has 'from', 'to', 'sent', 'what'"),
        (MAILS.head(0), {}, "has no rows"),
        (MAILS.with_columns(sent=pl.col("sent").shift(1)), {}, "column 'sent' row 1 is None"),
        (MAILS.with_columns(sent=pl.lit(7)), {}, "column 'sent' is a column of Int32"),
        (
            MAILS.with_columns(what=pl.col("what").shift(1)),
            {"type": "what"},
            "column 'what' has empty values",
        ),
        (
            MAILS,
            {"type": "what", "associations": ["met"]},
            r"names 'met', .* types are \['befriended', 'mail'\]",
        ),
        (MAILS, {"test_start": date(2025, 1, 1)}, "no test event"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said_with_its_column(
    frame: pl.DataFrame, arguments: dict, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=reason):
        event_table_from_frame(frame, tmp_path / "mails", **{**COLUMNS, **arguments})
    assert not (tmp_path / "mails").exists()
