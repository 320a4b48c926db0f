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
# A Python of some version, whose environments hold commands that do nothing.
STAND_IN_PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then echo "Python VERSION"; exit; fi
touch "$(dirname "$0")/used"
for command in pip python; do printf '#!/bin/sh\\n' > .venv/bin/$command; chmod +x .venv/bin/$command; done
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
    done = run_make(project, *arguments, **settings)
    assert done.returncode == 0, done.stderr
    assert not list(project.rglob("run")), "something in a .env or a path was run"
    return done.stdout.splitlines()


def run_make(project: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run make in a project, without settings of the machine."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("LDG_", "MAKE"))}
    return subprocess.run(
        ["make", "--silent", *arguments],
        cwd=project,
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def stand_in_python(folder: Path, version: str) -> Path:
    """Write a command that says it is Python of this version."""
    python = folder / "python"
    python.write_text(STAND_IN_PYTHON.replace("VERSION", version))
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("target", ["run", "test"])
@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_another_python_is_refused_before_anything_is_installed(
    project: Path, tmp_path: Path, version: str, target: str
) -> None:
    for stamp in (project / ".venv").glob(".ready-*"):
        stamp.unlink()
    python = stand_in_python(tmp_path, version)
    done = run_make(project, target, f"PYTHON={python}")
    assert done.returncode != 0
    assert f"{python} is Python {version}; the project needs Python 3.11 or 3.12" in done.stderr
    assert f"make {target} PYTHON=python3.11" in done.stderr
    assert not (tmp_path / "used").exists()


def test_each_step_of_the_setup_is_told_with_its_seconds(project: Path, tmp_path: Path) -> None:
    (project / ".venv" / ".ready-run").unlink()
    lines = make(project, "dev", f"PYTHON={stand_in_python(tmp_path, '3.12')}")
    steps = [line for line in lines if re.fullmatch(r"(Creating|Installing|Compiling) .* \.\.\. \d+ s", line)]
    assert len(steps) == 7
    assert (project / ".venv" / ".ready-run").exists()


def test_the_versions_of_python_that_make_takes_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.13"


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
