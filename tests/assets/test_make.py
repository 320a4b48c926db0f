"""The Makefile hands everything to `ldg` as it is: real make, and an `ldg` that tells what it got."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("postgres", "cluster", "s3", "dev")
REQUIREMENTS = ("requirements-run.txt", *(f"requirements-{extra}.txt" for extra in EXTRAS))
NEEDED = ("Makefile", "pyproject.toml", "constraints.txt", *REQUIREMENTS)
# Each argument and setting on a line of its own, and nothing of the `.env` read.
TELLING_LDG = """#!/bin/sh
printf '%s\\n' "home=$LDG_HOME" "seeds=$LDG_SEEDS" "X=$X"
printf 'argument=%s\\n' "$@"
"""
HARD = "a home [1] $HOME `touch run` ; touch run #"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that seems installed, with `.env` files that try to run something."""
    project = tmp_path / "project"
    (project / ".venv" / "bin").mkdir(parents=True)
    for name in NEEDED:
        shutil.copy(ROOT / name, project)
    stand_in = project / ".venv" / "bin" / "ldg"
    stand_in.write_text(TELLING_LDG)
    stand_in.chmod(0o755)
    for extra in ("run", *EXTRAS):
        (project / ".venv" / f".ready-{extra}").touch()
    for home in (project, project / HARD, project / "data" / "sample", project / "data" / "paper"):
        home.mkdir(parents=True, exist_ok=True)
        (home / ".env").write_text("X=$(touch run)\nLDG_SEEDS=9\n")
    return project


def make(project: Path, *arguments: str, **settings: str) -> list[str]:
    """What `ldg` got from make."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("LDG_", "MAKE"))}
    done = subprocess.run(
        ["make", "--silent", *arguments],
        cwd=project,
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not list(project.rglob("run")), "something in a .env or a path was run"
    return done.stdout.splitlines()


def test_run_builds_and_runs_the_sample_world_in_its_own_home(project: Path) -> None:
    assert make(project, "run") == [
        *("home=data/sample", "seeds=", "X=", "argument=sample"),
        *("home=data/sample", "seeds=", "X=", "argument=run"),
    ]


def test_a_variable_of_the_shell_counts(project: Path) -> None:
    lines = make(project, "run", LDG_SEEDS="1", LDG_HOME="elsewhere")
    assert lines[:2] == ["home=elsewhere", "seeds=1"]


@pytest.mark.parametrize("target", ["run", "dev", "reproduce"])
def test_a_home_with_any_name_reaches_the_command_as_it_is(project: Path, target: str) -> None:
    lines = make(project, target, LDG_HOME=HARD, DATA=HARD)
    assert f"home={HARD}" in lines
    assert "X=" in lines
    if target == "reproduce":
        assert lines[-2:] == ["argument=reproduce", f"argument={HARD}"]


def test_a_home_on_the_command_line_of_make_counts(project: Path) -> None:
    assert make(project, "dev", "LDG_HOME=a home")[0] == "home=a home"


def test_the_ui_leaves_the_home_to_the_settings(project: Path) -> None:
    assert make(project, "dev", "PORT=4000") == [
        "home=",
        "seeds=",
        "X=",
        "argument=dev",
        "argument=--port",
        "argument=4000",
    ]


def test_what_is_installed_by_hash_is_what_the_constraints_say() -> None:
    constraints = versions(ROOT / "constraints.txt")
    locked = {"torch": constraints["torch"]}
    for name in REQUIREMENTS:
        locked |= versions(ROOT / name)
    assert locked == constraints
    for name in REQUIREMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        entries = text.replace("\\\n", "").splitlines()
        assert all("--hash=sha256:" in entry for entry in entries)


def test_everything_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirements, file in (
        (project["dependencies"], "requirements-run.txt"),
        *((project["optional-dependencies"][extra], f"requirements-{extra}.txt") for extra in EXTRAS),
    ):
        names = {re.split("[>=[]", requirement)[0] for requirement in requirements}
        assert names - {"torch"} <= versions(ROOT / file).keys()


def versions(path: Path) -> dict[str, str]:
    """The version of each package that a file pins, by its normalized name."""
    lines = [line.split("\\")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [line.split("==") for line in lines if "==" in line]
    return {name.lower().replace("_", "-").replace(".", "-"): version for name, version in pairs}
