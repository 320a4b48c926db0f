"""`ldg follow` and `ldg forecast` on a local folder of hour files in today's format."""

from datetime import date
from pathlib import Path

import duckdb
import pytest

from pipeline.following.window import Window
from tests.command import clean_environment, ldg
from tests.todays_archive import World, write_days
from tests.whole_system import run_ldg

pytestmark = pytest.mark.slow
WORLD = World(people=8, circle=4, crowd=10, events=240)


def test_a_past_stretch_is_replayed_and_asked_about(tmp_path: Path) -> None:
    archive, home = tmp_path / "archive", tmp_path / "home"
    write_days(archive, WORLD, Window(date(2026, 6, 1), date(2026, 6, 11)))
    home.mkdir()
    (home / ".env").write_text(f"LDG_GHARCHIVE_URL='{archive}'\nLDG_FOLLOW_DAYS=8\nLDG_FOLLOW_NODES=8\n")
    follow = ("--home", home, "follow", "--from", "2026-06-09", "--to", "2026-06-11")
    assert "Followed 2026-06-08 to 2026-06-11" in run_ldg(*map(str, follow), environment=clean_environment())
    assert "nothing changed" in ldg(*follow).stdout
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        assert warehouse.sql("select count(*) from track_record").fetchall() == [(6,)]
        assert warehouse.sql("select count(distinct as_of) from forecasts").fetchall() == [(4,)]
        ((name, partner),) = warehouse.sql("select name, partner_name from today limit 1").fetchall()
    output = ldg("--home", home, "forecast", name.upper()).stdout
    assert output.startswith(f"{name} as of 2026-06-12 00:00 UTC, by rem\n   1  ")
    assert partner in output.splitlines()[1]
    assert not list((home / "raw").rglob("*.json.gz"))


def test_what_cannot_be_followed_is_said_in_a_sentence(tmp_path: Path) -> None:
    nobody = ldg("--home", tmp_path / "home", "forecast", "ann")
    assert nobody.returncode == 2
    (tmp_path / "home").mkdir()
    early = ldg("--home", tmp_path / "home", "forecast", "ann")
    assert (early.returncode, "nothing is followed" in early.stderr) == (2, True)
    future = ldg("--home", tmp_path / "home", "follow", "--to", "2100-01-01")
    assert (future.returncode, "which is not over" in future.stderr) == (2, True)
    unknown = ldg("--home", tmp_path / "home", "follow", "--from", "2026-06-09", "--to", "2026-06-01")
    assert (unknown.returncode, "after the last day" in unknown.stderr) == (2, True)
