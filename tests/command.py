"""`ldg` as a person calls it."""

import io
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

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
        environment_changed({**clean_environment(), **settings}),
        chdir(folder),
        redirect_stdout(output),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as end,
    ):
        main([*map(str, arguments)] or ["run"])
    status = end.value.code or 0
    assert isinstance(status, int)
    return subprocess.CompletedProcess(arguments, status, output.getvalue(), errors.getvalue())


@contextmanager
def environment_changed(wanted: Mapping[str, str]) -> Generator[None]:
    """This process's environment is the one that is wanted, for a while."""
    before = dict(os.environ)
    change_environment(wanted)
    try:
        yield
    finally:
        change_environment(before)


def change_environment(wanted: Mapping[str, str]) -> None:
    """Change only what differs: a thread that reads the environment meanwhile may end the process."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name in (name for name, text in wanted.items() if os.environ.get(name) != text):
        os.environ[name] = wanted[name]


def clean_environment() -> dict[str, str]:
    """The environment without the machine's settings."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("LDG_", "DAGSTER_"))}
