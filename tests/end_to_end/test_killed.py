"""A run that is killed at any moment completes when it is started again, with the same tables."""

import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.whole_system import ROOT, environment, run_module

KILLS = 4
SMALL = {"LDG_SEEDS": "1", "LDG_EPOCHS": "1", "LDG_VARIANTS": "dyrep"}


@pytest.mark.slow
def test_killed_runs_leave_nothing_half_written(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for home in (whole, killed):
        run_module("pipeline.sample", str(home), environment=environment(home))
    started = time.monotonic()
    run_module("assets", environment=environment(whole, **SMALL))
    seconds = time.monotonic() - started

    moments = random.Random(7)
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-m", "assets"],
            cwd=ROOT,
            env=environment(killed, **SMALL),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moments.uniform(0.1, 0.9) * seconds)
        process.kill()
        process.wait()
    run_module("assets", environment=environment(killed, **SMALL))

    for table in ("github_events", "dataset_events", "baselines", "link_prediction", "attention_auc"):
        first, second = (rows(home, table) for home in (whole, killed))
        assert first.equals(second), table
    assert not list(killed.rglob("*.tmp"))


def rows(home: Path, table: str) -> pl.DataFrame:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        return warehouse.table(table).pl().sort(pl.all())
