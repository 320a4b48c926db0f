"""Days followed one after the other: the same tables however the data came, and nothing half made."""

import json
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import polars as pl
import pytest
import torch

from model.checkpoint import read_tensors
from model.following.day import follow_until
from pipeline.following.bring import bring_window
from pipeline.following.choice import stored_choice
from pipeline.following.events import followed_events
from pipeline.following.files import FollowingFiles
from pipeline.following.record import (
    DayRecord,
    followed_days,
    read_record,
    track_record,
    undo_days,
)
from pipeline.following.rule import FollowRule
from pipeline.following.rule_of_settings import follow_rule
from pipeline.following.window import DAY, Window, end_of
from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.settings import SettingError, Settings
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from tests.forks import FORKS
from tests.todays_archive import World, write_days

pytestmark = pytest.mark.slow

WORLD = World(people=10, circle=5, crowd=20, events=240)
RULE = FollowRule(days=9, nodes=11)
START = date(2026, 6, 9)
FIRST, LAST = START + DAY, START + 3 * DAY
WINDOW = Window(date(2026, 6, 1), LAST)
LATE = FIRST + DAY  # the day of which an hour comes late
LATE_HOUR = file_name(LATE, 12)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fortnight of hour files in today's format."""
    folder = tmp_path_factory.mktemp("archive")
    write_days(folder, WORLD, WINDOW)
    return folder


@pytest.fixture(scope="session")
def brought(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with all of these days, and nothing followed."""
    home = tmp_path_factory.mktemp("brought")
    bring_window(Lake(home), WINDOW, FetchSettings(base=str(archive)), EventRules())
    return home


@pytest.fixture(scope="session")
def followed_at_once(brought: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same followed in one go."""
    home = tmp_path_factory.mktemp("followed") / "home"
    shutil.copytree(brought, home)
    follow_until(Lake(home), RULE, LAST, FIRST)
    return Lake(home)


def copy_of(brought: Path, tmp_path: Path) -> Lake:
    return Lake(Path(shutil.copytree(brought, tmp_path / "home")))


def whole_record(lake: Lake) -> dict[str, pl.DataFrame]:
    """The tables of the track record."""
    return {table.name: pl.concat(parts) for table, parts in track_record(lake)}


def tables(lake: Lake) -> dict[str, pl.DataFrame]:
    """The track record without what tells how the data came."""
    return {name: rows.drop("revised", strict=False) for name, rows in whole_record(lake).items()}


def records_of(lake: Lake) -> list[DayRecord | None]:
    return [read_record(lake, day) for day in followed_days(lake)]


def assert_same(lake: Lake, other: Lake) -> None:
    theirs = tables(other)
    for name, rows in tables(lake).items():
        assert rows.equals(theirs[name]), name
    for one, another in zip(records_of(lake), records_of(other), strict=True):
        assert one is not None
        assert another is not None
        assert one.digest == another.digest


def test_days_lived_one_by_one_leave_the_same_bits_as_a_replay(
    brought: Path, followed_at_once: Lake, tmp_path: Path
) -> None:
    lake = copy_of(brought, tmp_path)
    for day in Window(START, LAST):
        (record,) = follow_until(lake, RULE, day)
        assert record.day == day
    assert_same(lake, followed_at_once)
    snapshot = FollowingFiles.of(lake).snapshot("rem", START, LAST) / "model.safetensors"
    lived, header = read_tensors(snapshot)
    replayed, other_header = read_tensors(followed_at_once.home / snapshot.relative_to(lake.home))
    assert header == other_header
    assert lived.keys() == replayed.keys()
    assert all(torch.equal(lived[name], replayed[name]) for name in lived)
    assert not pl.concat(rows["revised"] for rows in whole_record(lake).values() if "revised" in rows).any()


def test_a_home_that_was_followed_by_a_removed_model_stays_readable_and_is_followed_on(
    followed_at_once: Lake, tmp_path: Path
) -> None:
    lake = copy_of(followed_at_once.home, tmp_path)
    files = FollowingFiles.of(lake)
    choice = files.people(START).with_suffix(".json")
    facts = json.loads(choice.read_bytes())
    facts["rule"]["variants"] = ["dyrep-bilinear"]
    choice.write_text(json.dumps(facts))
    for path in (files.forecasts(FIRST), files.scores(FIRST)):
        rows = read_parquet(path)
        name = "variant" if "variant" in rows.columns else "predictor"
        write_parquet(rows.with_columns(pl.col(name).replace("rem", "dyrep-bilinear")), path)
    record = tables(lake)
    assert set(record["forecasts"]["variant"]) == {"rem", "dyrep-bilinear"}
    assert "dyrep-bilinear" in record["forecast_scores"]["predictor"]
    follow_until(lake, RULE, LAST)
    assert followed_days(lake) == list(Window(START, LAST))


@pytest.mark.parametrize("name", ["dyrep", "dyrep-bilinear", "ldg_learned_sparse-concat", "gcn-bilinear"])
def test_a_model_of_the_papers_does_not_follow_and_rem_is_named_instead(name: str) -> None:
    with pytest.raises(SettingError, match=f"names {name}: following by the paper's models .*; use rem$"):
        follow_rule(Settings(follow_variants=("rem", name)))


def test_a_day_that_is_whole_is_not_made_again(followed_at_once: Lake) -> None:
    written = {path: path.stat().st_mtime_ns for path in followed_at_once.following.rglob("*.*")}
    assert follow_until(followed_at_once, RULE, LAST) == []
    assert {path: path.stat().st_mtime_ns for path in followed_at_once.following.rglob("*.*")} == written


def test_a_late_hour_revises_its_day_and_those_after_it(
    archive: Path, followed_at_once: Lake, tmp_path: Path
) -> None:
    late, lake = tmp_path / "archive", Lake(tmp_path / "home")
    shutil.copytree(archive, late)
    (late / LATE_HOUR).unlink()
    fetching = FetchSettings(base=str(late))
    bring_window(lake, WINDOW, fetching, EventRules())
    follow_until(lake, RULE, LAST, FIRST)
    shutil.copy(archive / LATE_HOUR, late / LATE_HOUR)
    assert bring_window(lake, WINDOW, fetching, EventRules()) == [LATE]
    assert [record.day for record in follow_until(lake, RULE, LAST)] == list(Window(LATE, LAST))
    assert_same(lake, followed_at_once)
    record = whole_record(lake)
    late_enough = pl.col("as_of") >= end_of(LATE)
    assert record["forecasts"].filter(late_enough)["revised"].all()
    assert not record["forecasts"].filter(~late_enough)["revised"].any()
    scores = record["forecast_scores"]
    assert scores.filter(pl.col("scored_until") >= end_of(LATE))["revised"].all()
    assert not scores.filter(pl.col("scored_until") < end_of(LATE))["revised"].any()


def follow_and_tell(lake: Lake, tell: Connection) -> None:
    follow_until(lake, RULE, LAST, FIRST, log=tell.send)


def test_a_kill_at_any_moment_leaves_whole_days_only(
    brought: Path, followed_at_once: Lake, tmp_path: Path
) -> None:
    lake = copy_of(brought, tmp_path)
    for moment in (0.3, 0.8, 0.2, 0.5):
        hear, tell = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=follow_and_tell, args=(lake, tell))
        process.start()
        tell.close()
        with hear:
            with suppress(EOFError):
                hear.recv()  # the first line of its log, or its end
                time.sleep(moment)
            process.kill()
            process.join()
        days = followed_days(lake)
        assert days == list(Window(START, LAST))[: len(days)]
        for day in days:
            files = FollowingFiles.of(lake)
            assert read_parquet(files.forecasts(day)).height == 11 * 10
            assert day == START or read_parquet(files.scores(day)).height == 8
    follow_until(lake, RULE, LAST, FIRST)
    assert_same(lake, followed_at_once)


def test_every_event_among_the_followed_is_there_once_and_every_communication_is_scored(
    followed_at_once: Lake,
) -> None:
    choice = stored_choice(followed_at_once, START)
    assert choice is not None
    people = {name.lower() for name in choice.names}
    scores = whole_record(followed_at_once)["forecast_scores"]
    for day in Window(FIRST, LAST):
        rows = pl.concat(map(read_parquet, sorted(followed_at_once.github_day(day).glob("*.parquet"))))
        actor, counterpart = pl.col("actor").str.to_lowercase(), pl.col("counterpart").str.to_lowercase()
        among = rows.filter(actor.is_in(people) & counterpart.is_in(people) & (actor != counterpart))
        events, _ = followed_events(followed_at_once, choice, [day])[day]
        assert events.height == among.height > 50
        assert events["created_at"].is_sorted()
        assert (events["created_at"] < end_of(day)).all()
        assert (events["created_at"] >= end_of(day - DAY)).all()
        of_day = scores.filter(pl.col("scored_until") == end_of(day))
        assert set(of_day["events"]) == {events.height}
        assert of_day.height == 2 * 4


def test_the_forecast_lists_the_likeliest_first_and_beats_chance(followed_at_once: Lake) -> None:
    record = whole_record(followed_at_once)
    of_node = record["forecasts"].sort("as_of", "node", "rank").group_by("as_of", "node", maintain_order=True)
    for _, rows in of_node:
        assert rows["rank"].to_list() == list(range(10))
        assert rows["probability"].is_sorted(descending=True)
        assert rows["partner"].n_unique() == 10
        assert (rows["expected_at"].drop_nulls() > rows["as_of"][0]).all()
    assert record["forecasts"]["probability"].is_between(0, 1).all()
    assert (record["forecast_scores"].filter("learns")["mar"] < 4.5).all()


def test_an_earlier_start_that_could_not_be_made_is_gone_on_from_and_an_impossible_one_costs_nothing(
    brought: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, followed_at_once: Lake
) -> None:
    lake = copy_of(brought, tmp_path)
    follow_until(lake, RULE, LAST, FIRST + DAY)
    before = tables(lake)
    with pytest.raises(FileNotFoundError):
        follow_until(lake, RULE, LAST, WINDOW.first - 30 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr("model.following.day.require_days", lambda *_: None)  # as of an archive's first days
        with pytest.raises(FileNotFoundError, match="no events from"):
            follow_until(lake, RULE, LAST, WINDOW.first - 30 * DAY)
    assert tables(lake).keys() == before.keys()
    assert all(tables(lake)[name].equals(rows) for name, rows in before.items())

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("model.following.day.Chain.until", killed)
        with pytest.raises(KeyboardInterrupt):
            follow_until(lake, RULE, LAST, FIRST)
    follow_until(lake, RULE, LAST)
    assert_same(lake, followed_at_once)


def test_another_rule_is_served_once_its_model_is_trained(brought: Path, tmp_path: Path) -> None:
    lake = copy_of(brought, tmp_path)
    others = FollowRule(days=9, accounts=tuple(WORLD.logins[5:10].tolist()))
    few = FollowRule(days=9, accounts=tuple(WORLD.logins[:5].tolist()))
    follow_until(lake, few, FIRST, FIRST)
    follow_until(lake, others, FIRST)
    assert all(record and record.serving == START for record in records_of(lake)), "the old model serves"
    follow_until(lake, others, LAST)
    followed = whole_record(lake)["followed"]
    stretches = followed.select("from", "until").unique(maintain_order=True).rows()
    assert stretches == [(START, FIRST), (FIRST + DAY, None)]
    assert followed.filter(pl.col("until").is_null())["name"].to_list() == sorted(others.accounts)


def test_people_chosen_anew_are_taken_on_by_what_the_days_say_and_not_by_when_they_were_made(
    brought: Path, tmp_path: Path
) -> None:
    rule = FollowRule(days=9, nodes=9, reselect=1)
    at_once, one_by_one = copy_of(brought, tmp_path / "one"), copy_of(brought, tmp_path / "other")
    follow_until(at_once, rule, LAST, FIRST)
    for day in Window(START, LAST):
        follow_until(one_by_one, rule, day)
    assert_same(one_by_one, at_once)
    records = [record for record in records_of(at_once) if record]
    assert any(record.challenger or record.serving != START for record in records), "nobody new was chosen"
    assert [record.challenger for record in records] == [
        record.challenger for record in records_of(one_by_one) if record
    ]


def test_days_that_are_undone_leave_nothing_and_are_followed_again_with_the_same_bits(
    brought: Path, followed_at_once: Lake, tmp_path: Path
) -> None:
    shorter, undone = copy_of(brought, tmp_path / "shorter"), tmp_path / "undone"
    lake = Lake(Path(shutil.copytree(followed_at_once.home, undone)))
    follow_until(shorter, RULE, FIRST, FIRST)
    assert undo_days(lake, LATE) == list(Window(LATE, LAST))
    assert files_of(lake) == files_of(shorter)
    follow_until(lake, RULE, LAST)
    assert_same(lake, followed_at_once)
    assert not pl.concat(rows["revised"] for rows in whole_record(lake).values() if "revised" in rows).any()
    undo_days(lake, START)
    assert files_of(lake) == set()


def files_of(lake: Lake) -> set[Path]:
    return {path.relative_to(lake.following) for path in lake.following.rglob("*.*") if path.is_file()}


def test_a_week_without_events_has_no_forecast_and_ends_with_the_next_event(
    archive: Path, brought: Path, tmp_path: Path
) -> None:
    lake, rule = copy_of(brought, tmp_path), replace(RULE, reselect=12)
    resumed, lines = LAST + 10 * DAY, list[str]()
    shutil.copytree(archive, tmp_path / "archive")
    write_days(tmp_path / "archive", WORLD, [resumed])
    fetching = FetchSettings(base=str(tmp_path / "archive"))
    bring_window(lake, Window(LAST, resumed), fetching, EventRules(), now=datetime(2026, 7, 1))
    follow_until(lake, rule, resumed, FIRST, lines.append)  # with no event in the window of a choice
    record = whole_record(lake)
    as_of = set(record["forecasts"]["as_of"].dt.date())
    quiet = {end_of(day).date() for day in Window(LAST + 7 * DAY, resumed - DAY)}
    assert as_of == {end_of(day).date() for day in Window(START, resumed)} - quiet
    assert sum("no forecast" in line for line in lines) == len(quiet)
    as_forecast = record["forecast_scores"].filter(pl.col("how") == "as_forecast")
    assert as_of > set(as_forecast["as_of"].dt.date())
