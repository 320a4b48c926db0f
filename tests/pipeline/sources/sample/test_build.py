import hashlib
import os
import shutil
from collections import Counter
from dataclasses import astuple
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.sample import FIRST_DAY, LAST_DAY, build, sample_paths
from pipeline.sources.sample.build import GITHUB_SPLIT, SAMPLE_MARK
from tests.command import ldg
from tests.forks import FORKS
from tests.whole_system import wait_for


def contents(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name != ".env"  # names the home itself
    }


def test_a_finished_build_is_left_alone(built_world: Path):
    before = sample_paths(built_world).marker.stat().st_mtime_ns
    assert not build(built_world)
    assert sample_paths(built_world).marker.stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_build_of_other_settings_is_replaced_and_nothing_of_it_stays(built_world: Path, tmp_path: Path):
    """Two builds of the same settings are alike byte for byte."""
    paths = sample_paths(tmp_path)
    paths.gharchive.mkdir(parents=True)
    (paths.gharchive / "2013-01-01-0.json.gz").write_bytes(b"of another world")
    paths.marker.write_text('{"recipe": {"version": 0}}')
    assert build(tmp_path)
    assert contents(tmp_path) == contents(built_world)


@pytest.mark.slow
def test_a_build_that_was_killed_is_completed_by_the_next(built_world: Path, tmp_path: Path):
    """Even if that is killed in its turn, by which time far more is there."""
    for files in (1, 200):
        process = FORKS.Process(target=build, args=(tmp_path,))
        process.start()
        # `os.walk` passes over a folder that the build renames meanwhile.
        wait_for(
            lambda enough=files: sum(len(found) for _, _, found in os.walk(tmp_path)) >= enough, pause=0.01
        )
        process.kill()
        process.join()
    build(tmp_path)
    assert contents(tmp_path) == contents(built_world)


@pytest.mark.slow
def test_the_command_says_what_it_did(built_world: Path):
    done = ldg("--home", built_world, "sample")
    assert done.returncode == 0, done.stderr
    assert "already built" in done.stdout


def test_the_home_carries_the_settings_that_fit(built_world: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in os.environ if name.startswith("LDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LDG_HOME", str(built_world))
    settings, paths = Settings.load(), sample_paths(built_world)
    assert settings.gharchive_url == str(paths.gharchive)
    assert settings.social_evolution == str(paths.social_evolution)
    assert settings.associations == ("FollowEvent", "MemberEvent")
    assert settings.github_split == GITHUB_SPLIT
    assert (settings.github_history, settings.github_end) == (FIRST_DAY, LAST_DAY)


def test_a_home_that_was_moved_points_to_its_new_place_and_settings_edited_there_stay(
    built_world: Path, tmp_path: Path
):
    moved = tmp_path / "a home"
    shutil.copytree(built_world, moved)
    here, there = sample_paths(moved), sample_paths(built_world)
    edited = there.environment.read_text().replace("LDG_SEEDS=3", "LDG_SEEDS=5")
    here.environment.write_text(edited)
    assert not build(moved)
    assert contents(moved) == contents(built_world)
    assert here.marker.stat().st_mtime_ns == there.marker.stat().st_mtime_ns, "built again"
    for before, after in zip(astuple(there)[:2], astuple(here)[:2], strict=True):
        edited = edited.replace(f"={before}\n", f"='{after}'\n")  # a name with a space is quoted
    assert here.environment.read_text() == edited
    assert not build(moved)
    assert here.environment.read_text() == edited


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "LDG_GHARCHIVE_URL={raw}/gharchive\nLDG_SOCIAL_EVOLUTION={raw}/SocialEvolution.zip\n"),
        (
            "export LDG_GHARCHIVE_URL='/old/sample_world/gharchive'  # moved\nLDG_SOCIAL_EVOLUTION=/my.zip",
            "LDG_GHARCHIVE_URL={raw}/gharchive\nLDG_SOCIAL_EVOLUTION=/my.zip",
        ),
        (
            "LDG_SOCIAL_EVOLUTION={raw}/SocialEvolution.zip\nA='two\nlines'\nLDG_GHARCHIVE_URL=https://mine.example/",
            "LDG_SOCIAL_EVOLUTION={raw}/SocialEvolution.zip\nA='two\nlines'\nLDG_GHARCHIVE_URL=https://mine.example/",
        ),
    ],
    ids=["nothing is named", "as a shell writes it", "own addresses"],
)
def test_what_a_home_names_is_changed_where_it_is_the_sample_world_of_another_place(
    before: str, after: str, built_world: Path, tmp_path: Path
):
    paths = sample_paths(shutil.copytree(built_world, tmp_path / "home"))
    raw = paths.marker.parent
    paths.environment.write_text(f"{SAMPLE_MARK}\n" + before.format(raw=raw))
    paths.environment.chmod(0o600)  # it may hold secrets
    assert not build(tmp_path / "home")
    assert paths.environment.read_text() == f"{SAMPLE_MARK}\n" + after.format(raw=raw)
    assert paths.environment.stat().st_mode & 0o777 == 0o600


def test_a_home_with_settings_of_its_own_is_refused_and_left_alone(tmp_path: Path):
    (tmp_path / ".env").write_text("LDG_SEEDS=7\n")
    done = ldg("--home", tmp_path, "sample")
    assert done.returncode == 2
    assert "a home of its own" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


@pytest.mark.parametrize("dataset", ["github", "social_evolution"])
def test_the_planted_graph_is_symmetric_without_self_loops(built_world: Path, dataset: str):
    graph = pl.read_parquet(Lake(built_world).known_graph(dataset))
    assert graph.schema == {"source": pl.String, "target": pl.String}
    rows = Counter(graph.iter_rows())
    assert max(rows.values()) == 1
    assert all((target, source) in rows and source != target for source, target in rows)
