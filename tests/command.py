"""`ldg` as a person calls it."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from assets.cli import main
from tests.whole_system import PATIENCE, ROOT


def ldg_process(
    *arguments: str | Path, folder: Path = ROOT, **settings: str
) -> subprocess.CompletedProcess[str]:
    """`ldg` in its own process, with these settings and none of the machine's."""
    return subprocess.run(
        [sys.executable, "-m", "assets", *map(str, arguments)],
        cwd=folder,
        env={**clean_environment(), "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def ldg(*arguments: str | Path, folder: Path = ROOT, **settings: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported everything: what ends soon needs no other."""
    output, errors = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, {**clean_environment(), **settings}, clear=True),
        chdir(folder),
        redirect_stdout(output),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as end,
    ):
        main([*map(str, arguments)] or ["run"])
    status = end.value.code or 0
    assert isinstance(status, int)
    return subprocess.CompletedProcess(arguments, status, output.getvalue(), errors.getvalue())


def clean_environment() -> dict[str, str]:
    """The environment without the machine's settings."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("LDG_", "DAGSTER_"))}
