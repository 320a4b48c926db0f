"""The report's first page where an archive is followed."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import Lake, write_parquet
from pipeline.results.warehouse import build_warehouse
from pipeline.schemas import GHARCHIVE_FILES
from pipeline.show.report import write_report
from tests.followed_world import store_followed

NAMES = ["ada", "bob", "cleo", "<b>dan</b>"]


@pytest.fixture
def followed(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    store_followed(lake, NAMES)
    return lake


def written(lake: Lake) -> str:
    build_warehouse(lake)
    return write_report(lake).read_text(encoding="utf-8")


def test_it_begins_with_what_is_likely_next_and_how_forecasts_did(followed: Lake) -> None:
    page = written(followed)
    places = [page.index(text) for text in ("What comes next", "Track record", 'id="person"', 'id="explore"')]
    assert places == sorted(places)
    assert "Forecasts as of" in page
    assert "rem was ahead of recency on 9 of 9 days" in page
    assert "What changed in the latent graph this week" in page
    assert "<b>dan</b>" not in page


def test_it_says_which_hours_are_missing(followed: Lake) -> None:
    assert "every hour of the last two weeks is here" in written(followed)
    hour = dict.fromkeys(GHARCHIVE_FILES.names) | {
        "file": "2024-05-07-9.json.gz",
        "day": date(2024, 5, 7),
        "hour": 9,
        "status": "missing",
        **dict.fromkeys(("events", "kept", "ignored", "duplicates", "quarantined"), 0),
    }
    account = pl.DataFrame([hour], schema=GHARCHIVE_FILES.types)
    write_parquet(account, followed.github_accounts / "date=2024-05-07.parquet")
    assert "2024-05-07: hours 9 missing" in written(followed)


def test_a_home_that_follows_nothing_has_no_such_page(tmp_path: Path) -> None:
    page = written(Lake(tmp_path))
    assert "What comes next" not in page
    assert "person-search" not in page
