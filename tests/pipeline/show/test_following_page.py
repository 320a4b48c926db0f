"""The report's first page where an archive is followed."""

import shutil
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


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with its page, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("followed"))
    store_followed(lake, NAMES)
    written(lake)
    return lake


@pytest.fixture(scope="module")
def first_page(followed: Lake) -> str:
    return (followed.home / "report" / "index.html").read_text(encoding="utf-8")


def written(lake: Lake) -> str:
    build_warehouse(lake)
    return write_report(lake).read_text(encoding="utf-8")


def test_it_begins_with_what_is_likely_next_and_how_forecasts_did(first_page: str) -> None:
    places = [
        first_page.index(text) for text in ("What comes next", "Track record", 'id="person"', 'id="explore"')
    ]
    assert places == sorted(places)
    assert "Forecasts as of" in first_page
    assert "rem was ahead of recency on 9 of 9 days" in first_page
    assert "What changed in the latent graph this week" in first_page
    assert "<b>dan</b>" not in first_page


def test_it_says_which_hours_are_missing(followed: Lake, first_page: str, lake: Lake) -> None:
    assert "every hour of the last two weeks is here" in first_page
    shutil.copytree(followed.home, lake.home)
    hour = dict.fromkeys(GHARCHIVE_FILES.names) | {
        "file": "2024-05-07-9.json.gz",
        "day": date(2024, 5, 7),
        "hour": 9,
        "status": "missing",
        **dict.fromkeys(("events", "kept", "ignored", "duplicates", "quarantined"), 0),
    }
    account = pl.DataFrame([hour], schema=GHARCHIVE_FILES.types)
    write_parquet(account, lake.github_accounts / "date=2024-05-07.parquet")
    assert "2024-05-07: hours 9 missing" in written(lake)


def test_a_home_that_follows_nothing_has_no_such_page(tmp_path: Path) -> None:
    first_page = written(Lake(tmp_path))
    assert "What comes next" not in first_page
    assert "person-search" not in first_page
