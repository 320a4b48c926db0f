import hashlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.sample import build, sample_paths


def contents(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def test_two_builds_are_alike_byte_for_byte(sample_home: Path, tmp_path: Path):
    assert build(tmp_path)
    assert contents(tmp_path) == contents(sample_home)


def test_a_finished_build_is_left_alone(sample_home: Path):
    before = sample_paths(sample_home).marker.stat().st_mtime_ns
    assert not build(sample_home)
    assert sample_paths(sample_home).marker.stat().st_mtime_ns == before


def test_a_build_of_other_settings_is_replaced_and_nothing_of_it_stays(sample_home: Path, tmp_path: Path):
    paths = sample_paths(tmp_path)
    paths.gharchive.mkdir(parents=True)
    (paths.gharchive / "2013-01-01-0.json.gz").write_bytes(b"of another world")
    paths.marker.write_text('{"recipe": {"version": 0}}')
    assert build(tmp_path)
    assert contents(tmp_path) == contents(sample_home)


@pytest.mark.parametrize("seconds", [0.6, 1.2, 1.8])
def test_a_build_that_was_killed_is_completed_by_the_next(sample_home: Path, tmp_path: Path, seconds: float):
    command = [sys.executable, "-m", "pipeline.sample", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    build(tmp_path)
    left = {name: digest for name, digest in contents(tmp_path).items() if not name.endswith(".tmp")}
    assert left == contents(sample_home)


def test_the_command_says_what_it_did(sample_home: Path):
    command = [sys.executable, "-m", "pipeline.sample", str(sample_home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "already built" in done.stdout


@pytest.mark.parametrize("dataset", ["github", "social_evolution"])
def test_the_planted_graph_is_symmetric_without_self_loops(sample_home: Path, dataset: str):
    graph = pl.read_parquet(Lake(sample_home).known_graph(dataset))
    assert graph.schema == {"source": pl.String, "target": pl.String}
    rows = Counter(graph.iter_rows())
    assert max(rows.values()) == 1
    assert all((target, source) in rows and source != target for source, target in rows)
