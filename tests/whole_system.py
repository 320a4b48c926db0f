"""The whole system as `make run` runs it: modules in their own processes, with the environment of a home."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def environment(home: Path, **more: str) -> dict[str, str]:
    """What the Makefile sets for a home, and nothing of the machine's own settings."""
    foreign = ("LDG_", "DAGSTER_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    storage = home / "dagster"
    storage.mkdir(parents=True, exist_ok=True)
    ours = {"LDG_HOME": str(home), "DAGSTER_HOME": str(ROOT), "LDG_DAGSTER_STORAGE": str(storage)}
    return {**kept, **ours, **more}


def run_module(module: str, *arguments: str, environment: Mapping[str, str]) -> str:
    """Run `python -m module` in the project's folder; its output is shown when it fails."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout
