"""The report's first page where an archive is followed."""

import shutil
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from pipeline.following.files import FollowingFiles
from pipeline.lake import Lake, read_parquet, write_parquet
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
    assert "What changed in the latent graph in 7 days" in first_page
    assert "7 days before</th>" in first_page
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


@pytest.mark.parametrize(("days", "distance"), [(4, "3 days"), (2, "1 day")])
def test_few_followed_days_are_compared_over_as_many_as_there_are(
    lake: Lake, days: int, distance: str
) -> None:
    store_followed(lake, NAMES, days)
    assert f'<th scope="col">{distance} before</th>' in written(lake)


def test_a_day_without_a_forecast_and_small_probabilities_are_said_in_words(lake: Lake) -> None:
    *_, before, newest = store_followed(lake, NAMES)
    files = FollowingFiles.of(lake)
    small = read_parquet(files.forecasts(before)).with_columns(pl.col("probability") / 1000)
    write_parquet(small, files.forecasts(before))
    write_parquet(small.clear(), files.forecasts(newest))
    first_page = written(lake)
    assert "There is no forecast as of 11 May 2024, 00:00 UTC" in first_page
    assert "had no events among themselves for 7 days" in first_page
    assert "No interaction reaches a probability of 0.5 %" in first_page
    assert "<td>0%</td>" not in first_page.partition("Track record")[0]


def test_a_home_that_follows_nothing_has_no_such_page(tmp_path: Path) -> None:
    first_page = written(Lake(tmp_path))
    assert "What comes next" not in first_page
    assert "person-search" not in first_page
