"""A trained folder forecasts: names, probabilities and moments, for every family of variants."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from model import TrainingSettings, load, train
from model.forecast import DensityForecaster, Forecaster
from model.ranking import Frequencies
from model.stream import load_stream
from tests.small_world import write_table

ROOT = Path(__file__).parents[2]
SETTINGS = TrainingSettings(seeds=(3, 5), epochs=1, batch=10, d=4, snapshots=3)
KEYS = [
    "dyrep-concat",
    "dyrep_friend-bilinear",
    "ldg_random_sparse-bilinear",
    "ldg_learned_sparse-bilinear",
    "ldg_learned_sparse_freq-bilinear",
    "gcn-bilinear",
    "gat-concat",
]


@pytest.fixture(scope="module")
def trained_home(tmp_path_factory) -> Path:
    """A home with one small dataset and a trained model of each family."""
    home = tmp_path_factory.mktemp("home")
    dataset = write_table(home / "datasets" / "small", name="small", nodes=12, events=48)
    for key in KEYS:
        train(dataset, key, SETTINGS, home / "models" / "small" / key)
    return home


def model_of(home: Path, key: str) -> DensityForecaster:
    model = load(home / "models" / "small" / key)
    assert isinstance(model, DensityForecaster)
    return model


@pytest.mark.parametrize("key", KEYS)
def test_probabilities_of_all_partners_sum_to_one_and_the_likeliest_come_first(key, trained_home):
    partners = load(trained_home / "models" / "small" / key).predict("node 2", top=100)
    assert partners.columns == ["partner", "node", "probability"]
    assert set(partners["partner"]) == {f"node {node}" for node in range(12)} - {"node 2"}
    assert partners["probability"].sum() == pytest.approx(1)
    assert partners["probability"].is_sorted(descending=True)


@pytest.mark.parametrize("key", [key for key in KEYS if "freq" not in key])
def test_after_the_last_event_the_forecast_is_the_stored_prediction(key, trained_home):
    stored = pl.read_parquet(trained_home / "models" / "small" / key / "predictions.parquet")
    model = load(trained_home / "models" / "small" / key)
    for node in range(12):
        row = stored.filter(node=node)
        partners = model.predict(node)
        assert partners["node"].to_list() == row["partner"].to_list()
        ratio = partners["probability"] / row["density"]
        assert ratio.to_numpy() == pytest.approx(np.full(len(ratio), ratio[0]))


def test_frequency_averages_the_density_with_past_partners(trained_home):
    plain, frequent = (model_of(trained_home, f"ldg_learned_sparse{end}-bilinear") for end in ("", "_freq"))
    stream = load_stream(trained_home / "datasets" / "small")
    shares = Frequencies.of_events(stream, stream.splits[1]).rows(np.array([1]))[0].numpy()
    expected = (plain.probabilities(1, None) + shares) / 2
    np.testing.assert_allclose(frequent.probabilities(1, None), expected / expected.sum())


@pytest.mark.parametrize("key", ["dyrep-concat", "gcn-bilinear"])
def test_a_forecast_sees_the_events_before_its_moment_and_no_other(key, trained_home, tmp_path):
    model = model_of(trained_home, key)
    stream = model.stream
    late = stream.moment(len(stream)) + timedelta(days=30)
    assert model.predict(0, at=late).equals(model.predict(0))
    at = stream.moment(stream.splits[1] + 9)
    assert model.position_of(at) < stream.splits[1] + 9  # the event at that very moment is not seen
    other = model_of(trained_home, key)
    seen = model.position_of(at)
    other.stream = replace(stream, u=stream.u.copy(), v=stream.v.copy())
    other.stream.u[seen:], other.stream.v[seen:] = (stream.u[seen:] + 1) % 12, (stream.v[seen:] + 1) % 12
    assert model.predict(0, at=at).equals(other.predict(0, at=at))
    again = model_of(trained_home, key).predict(0, at=at)
    assert model.predict(0, at=at).equals(again)  # whatever was asked before


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"node": "nod 7"}, "nearest names are 'node 7'"),
        ({"node": 12}, r"node takes 0…11 in 'small', not 12"),
        ({"node": 0, "top": 0}, "top takes 1 or more"),
        ({"node": 0, "at": datetime(2013, 1, 1)}, "at takes a time after 2013-01-01 09:"),
        ({"node": 0, "at": datetime(2014, 1, 1, tzinfo=UTC)}, "without a zone"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(question, reason, trained_home):
    with pytest.raises(ValueError, match=reason):
        load(trained_home / "models" / "small" / "dyrep-concat").predict(**question)


def test_a_folder_without_a_finished_training_or_its_table_is_refused(trained_home, tmp_path):
    with pytest.raises(FileNotFoundError, match="no finished training"):
        load(tmp_path)
    trained = trained_home / "models" / "small" / "gcn-bilinear"
    with pytest.raises(FileNotFoundError, match="pass dataset"):
        load(trained, tmp_path)
    with pytest.raises(ValueError, match="another event table"):
        load(trained, write_table(tmp_path / "other", name="small", nodes=12, events=48, seed=1))


def test_another_family_only_gives_probabilities():
    class Uniform(Forecaster):
        def probabilities(self, node, at):
            return np.full(3, 0.5)

    partners = Uniform("tiny", ["ann", "bob", "cy"]).predict("bob", top=5)
    assert partners["partner"].to_list() == ["ann", "cy"]


def test_importing_the_package_imports_no_torch():
    code = "import sys, model; model.TrainingSettings; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.slow
def test_the_example_runs(tmp_path):
    write_table(tmp_path / "data" / "sample" / "datasets" / "github", name="github", events=600)
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "forecast.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "after the last event" in done.stdout
    assert "by probability" in done.stdout.splitlines()[-1]
