"""Results are current as long as neither they nor anything they are made from has changed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import Lake, write_parquet
from pipeline.results import digests
from pipeline.results.digests import are_results_current, digest_inputs, note_results

FETCHED = datetime(2015, 1, 1, tzinfo=UTC).replace(tzinfo=None)
DATASETS = ["toy"]


@pytest.fixture
def made(tmp_path: Path) -> Lake:
    """A home with files of every kind, whose results are noted."""
    lake = Lake(tmp_path / "it's home")
    for path in (
        lake.dataset("toy") / "dataset.json",
        lake.model("toy", "rem-history") / "model.json",
        lake.known_graph("toy"),
        lake.waiting_times("toy") / "calibration.parquet",
        lake.following / "scores" / "date=2015-01-01.parquet",
        lake.results / "dataset_stats.parquet",
        lake.figures / "toy" / "baselines.svg",
        lake.warehouse,
        lake.report,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as made")
    store_day(lake, FETCHED)
    note_results(lake, digest_inputs(lake, DATASETS))
    return lake


def store_day(lake: Lake, fetched: datetime, status: str = "missing") -> None:
    rows = pl.DataFrame({"file": ["2015-01-01-0.json.gz"], "status": [status], "fetched_at": [fetched]})
    write_parquet(rows, lake.github_accounts / "date=2015-01-01.parquet")


def is_current(lake: Lake, datasets: list[str] = DATASETS) -> bool:
    return are_results_current(lake, digest_inputs(lake, datasets))


def test_results_stay_current_while_a_missing_hour_is_asked_for_again(made: Lake) -> None:
    store_day(made, FETCHED + timedelta(days=1))
    (made.model("toy", "rem-history") / "checkpoint.safetensors").write_text("no result reads it")
    assert is_current(made)


@pytest.mark.parametrize(
    "path",
    [
        "datasets/toy/dataset.json",
        "models/toy/rem-history/model.json",
        "known_graphs/toy.parquet",
        "waiting_times/toy/calibration.parquet",
        "following/scores/date=2015-01-01.parquet",
        "results/dataset_stats.parquet",
        "results/digests.json",
        "figures/toy/baselines.svg",
        "warehouse.duckdb",
        "report/index.html",
    ],
)
def test_a_file_that_is_changed_or_gone_makes_results_again(made: Lake, path: str) -> None:
    (made.home / path).write_text("damaged")
    assert not is_current(made)
    (made.home / path).unlink()
    assert not is_current(made)


def test_another_day_dataset_package_or_home_makes_results_again(
    made: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not is_current(made, ["toy", "office"])
    made.home.rename(tmp_path / "moved")
    assert not is_current(Lake(tmp_path / "moved"))
    (tmp_path / "moved").rename(made.home)
    assert is_current(made)
    with monkeypatch.context() as patch:
        patch.setattr(digests, "version", lambda _: "another")
        assert not is_current(made)
    store_day(made, FETCHED, status="ok")
    assert not is_current(made)
