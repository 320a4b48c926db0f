"""Waiting times of a dataset: learned, scored and stored as promised, knowing nothing of what follows."""

import json
from pathlib import Path

import polars as pl
import pytest

from model import load
from model.history.events import load_events
from model.rem.settings import RemSettings
from model.rem.training import train_rem
from model.when.hazard import HazardNetwork
from model.when.pairs import PairHazard
from model.when.settings import HazardSettings, PairSettings, WhenSettings
from model.when.training import learn_waiting_times, nodes_of_period, pairs_of_period, periods
from pipeline.lake import Lake
from pipeline.rem_variants import RemVariant
from pipeline.schemas import CALIBRATION, NEXT_EVENT_TIME
from tests.model.when.other_future import with_other_future
from tests.small_world import store_table

pytestmark = pytest.mark.slow  # compiles

SMALL = WhenSettings(
    HazardSettings(bins=6, epochs=1, skipped=5), PairSettings(questions=80, strangers=4, hidden=8, epochs=1)
)


@pytest.fixture(scope="module")
def waiting_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = Lake(tmp_path_factory.mktemp("when"))
    store_table(lake)
    return lake.dataset("toy")


@pytest.fixture(scope="module")
def waiting_folder(waiting_dataset: Path) -> Path:
    folder = waiting_dataset.parents[1] / "waiting_times" / "toy"
    learn_waiting_times(waiting_dataset, folder, SMALL)
    return folder


def test_the_tables_have_their_columns_and_a_row_of_each_predictor_subject_and_split(
    waiting_folder: Path,
) -> None:
    scores = pl.read_parquet(waiting_folder / "next_event_time.parquet")
    calibration = pl.read_parquet(waiting_folder / "calibration.parquet")
    assert dict(scores.schema) == NEXT_EVENT_TIME.stored().types
    assert dict(calibration.schema) == CALIBRATION.stored().types
    assert scores.height == scores.select("predictor", "subject", "split").n_unique() == 6 * 2 * 2
    assert not scores.null_count().sum_horizontal().sum()
    assert set(calibration["horizon"]) == {"1 h", "1 d", "7 d"}


def test_every_wait_that_begins_in_a_split_is_scored_or_open(
    waiting_dataset: Path, waiting_folder: Path
) -> None:
    events = pl.read_parquet(waiting_dataset / "events.parquet").filter(pl.col("kind") == "communication")
    began = dict(events.group_by("split").len().iter_rows())
    scores = pl.read_parquet(waiting_folder / "next_event_time.parquet").filter(
        pl.col("predictor") == "hazard"
    )
    for subject, split, waits, still_open in scores.select(
        "subject", "split", "waits", "open_waits"
    ).iter_rows():
        assert waits + still_open == began[split] * (2 if subject == "node" else 1)


def test_what_was_learned_is_not_learned_again(waiting_dataset: Path, waiting_folder: Path) -> None:
    lines: list[str] = []
    before = (waiting_folder / "pairs.safetensors").stat().st_mtime_ns
    facts = learn_waiting_times(waiting_dataset, waiting_folder, SMALL, lines.append)
    assert (waiting_folder / "pairs.safetensors").stat().st_mtime_ns == before
    assert "nothing to do" in lines[0]
    assert facts == json.loads((waiting_folder / "waiting_times.json").read_text(encoding="utf-8"))
    HazardNetwork.load(waiting_folder / "nodes.safetensors")
    PairHazard.load(waiting_folder / "pairs.safetensors")


def test_scores_of_validation_do_not_change_with_the_events_of_the_test_period(waiting_dataset: Path) -> None:
    events = load_events(waiting_dataset)
    changed = with_other_future(events, events.stream.splits[1])
    period = next(iter(periods(events.stream)))
    for forecast in (nodes_of_period, pairs_of_period):
        (_, one), (_, two) = (forecast(of, period, SMALL) for of in (events, changed))
        for before, after in zip(one, two, strict=True):
            assert before.equals(after)


def test_a_relational_event_model_says_when_once_waiting_times_are_learned(
    waiting_dataset: Path, waiting_folder: Path, tmp_path: Path
) -> None:
    settings = RemSettings(seeds=(0,), epochs=1, batch=16, candidates=5, hidden=(8, 4), base_hidden=(6, 3))
    train_rem(waiting_dataset, RemVariant(), settings, tmp_path)
    rows = load(tmp_path, waiting_dataset).predict(3, top=4).frame()
    assert rows["within_day"].is_between(0, 1).all()
    assert (rows["expected_days"] > 0).all()
    learned = waiting_folder / "waiting_times.json"
    text = learned.read_text(encoding="utf-8")
    learned.unlink()
    assert load(tmp_path, waiting_dataset).predict(3, top=4).frame()["within_day"].null_count() == 4
    learned.write_text(text, encoding="utf-8")
