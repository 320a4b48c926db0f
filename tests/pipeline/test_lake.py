"""Files are written whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import (
    LEFT_BEHIND,
    MACHINE,
    Lake,
    replacing,
    sweep,
    temporary_name,
    write_json,
    write_parquet,
)

NUMBERING = Path("/proc/self/ns/pid")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_json({"kept": True}, path)
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text(str(1 / 0))
    assert path.read_text() == '{\n  "kept": true\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_and_a_frame_comes_back_as_it_was(tmp_path: Path) -> None:
    frame = pl.DataFrame({"node": [0, 1], "name": ["ada", "bob"]})
    write_parquet(frame, tmp_path / "a" / "b" / "nodes.parquet")
    assert pl.read_parquet(tmp_path / "a" / "b" / "nodes.parquet").equals(frame)


def test_what_killed_processes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    table, folder = (
        tmp_path / "a" / f".table.parquet.{gone.pid}.tmp",
        tmp_path / f".incoming-x.{gone.pid}.tmp",
    )
    others = [
        tmp_path / "a" / name for name in (f".table.parquet.{os.getpid()}.tmp", "mine.tmp", ".mine.tmp")
    ]
    folder.mkdir(parents=True)
    table.parent.mkdir()
    for path in (table, table.with_name(f"{table.name}.wal"), folder / "rows.csv", *others):
        path.touch()
    sweep(tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(others)
    assert not folder.exists()


@pytest.mark.skipif(not NUMBERING.exists(), reason="only Linux has numberings of processes side by side")
def test_a_container_with_its_hosts_name_is_another_machine(tmp_path: Path) -> None:
    assert MACHINE.endswith(f"-{NUMBERING.stat().st_ino}")
    named = LEFT_BEHIND.fullmatch(temporary_name(tmp_path / "rows.parquet").name)
    assert named is not None
    assert named["machine"] == MACHINE


@pytest.mark.parametrize("name", ["what?", "back\\slash", "100%"])
def test_a_home_that_databases_would_take_for_another_is_refused_at_once(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="set LDG_HOME to a folder without"):
        Lake(tmp_path / name)
