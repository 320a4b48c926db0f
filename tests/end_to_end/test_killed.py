"""A run that is killed at any moment completes when it is started again, with the same tables."""

import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.runs import read_sessions
from tests.whole_system import (
    FEW_DAYS,
    PATIENCE,
    copy_world,
    environment,
    run_ldg,
    start_ldg,
    trainings_at_work,
    wait_for,
)


@pytest.mark.slow
def test_killed_runs_leave_nothing_half_written_and_what_they_finished_is_not_made_again(
    built_world: Path, few_days_home: Path, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    copy_world(built_world, killed)
    files = count_files(killed)

    # Moments by what is on disk and at work, not by the clock: at random among the archive's many files, when
    # one of two trainings has a checkpoint, and among the results.
    enough = files + random.Random(7).uniform(0, 0.8) * (count_files(few_days_home) - files)
    moments: list[Callable[[], object]] = [
        lambda: count_files(killed) >= enough,
        lambda: checkpoints(killed) and len(trainings_at_work(killed)) == 2,
        (killed / "results" / "link_prediction.parquet").exists,
    ]
    for moment in moments:
        process = start_ldg(environment=environment(killed, **FEW_DAYS))
        wait_for(moment, process, pause=0.1)
        process.kill()
        process.communicate(timeout=PATIENCE)
    finished = {path: path.stat().st_mtime_ns for path in finished_files(killed)}
    assert len(finished) > 5
    run_ldg(environment=environment(killed, **FEW_DAYS))
    assert {path: path.stat().st_mtime_ns for path in finished} == finished, "made again"

    assert not trainings_at_work(killed)
    for table in ("github_events", "dataset_events", "baselines", "link_prediction", "attention_auc"):
        first, second = (rows(home, table) for home in (few_days_home, killed))
        assert first.equals(second), table
    assert not [path for path in killed.rglob(".*.tmp*") if "dagster" not in path.parts]
    sessions = read_sessions(Lake(killed))
    assert [session.finished for session in sessions] == [False] * (len(sessions) - 1) + [True]
    trained = [training for session in sessions for training in session.trainings]
    assert sorted(one.variant for one in trained) == ["dyrep-bilinear", "dyrep-concat"]
    assert any(one.resumed for one in trained)


def count_files(home: Path) -> int:
    folders = [folder for folder in home.iterdir() if folder.name != "dagster"]
    return sum(len(list(folder.rglob("*"))) for folder in folders)


def finished_files(home: Path) -> list[Path]:
    """What is there to stay once results are being made."""
    events, models = "events/github/*/*.parquet", "models/*/*/weights.safetensors"
    waits = "waiting_times/*/waiting_times.json"
    return [path for pattern in (events, models, waits) for path in home.glob(pattern)]


def checkpoints(home: Path) -> list[Path]:
    return list(home.glob("models/*/*/checkpoint.safetensors"))


def rows(home: Path, table: str) -> pl.DataFrame:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        return warehouse.table(table).pl().sort(pl.all())
