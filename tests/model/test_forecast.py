"""A trained folder forecasts: names, probabilities and moments, for every family of variants."""

import os
import re
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
    partners = load(trained_home / "models" / "small" / key).predict("node 2", top=100).frame()
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
        partners = model.predict(node).frame()
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
    assert model.predict(0, at=late).frame().equals(model.predict(0).frame())
    at = stream.moment(stream.splits[1] + 9)
    assert model.position_of(at) < stream.splits[1] + 9  # the event at that very moment is not seen
    other = model_of(trained_home, key)
    seen = model.position_of(at)
    other.stream = replace(stream, u=stream.u.copy(), v=stream.v.copy())
    other.stream.u[seen:], other.stream.v[seen:] = (stream.u[seen:] + 1) % 12, (stream.v[seen:] + 1) % 12
    forecast = model.predict(0, at=at).frame()
    assert forecast.equals(other.predict(0, at=at).frame())
    assert forecast.equals(model_of(trained_home, key).predict(0, at=at).frame())  # whatever was asked before


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"node": "nod 7"}, "nearest names are 'node 7'"),
        ({"node": 12}, "node takes a name, or a number from 0 to 11, in 'small', not 12"),
        ({"node": "12"}, "node takes a name, or a number from 0 to 11, in 'small', not 12"),
        ({"node": 0, "top": 0}, "top takes 1 or more"),
        ({"node": 0, "at": datetime(2013, 1, 1)}, "at takes a time after 2013-01-01 09:"),
        ({"node": 0, "at": datetime(2014, 1, 1, tzinfo=UTC)}, "without a zone"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(question, reason, trained_home):
    with pytest.raises(ValueError, match=reason):
        load(trained_home / "models" / "small" / "dyrep-concat").predict(**question)


def test_a_folder_without_a_finished_training_or_its_table_is_refused(trained_home, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model.json is missing.*`ldg train DATASET VARIANT`"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no such folder.*`from model import train`"):
        load(tmp_path / "none")
    trained = trained_home / "models" / "small" / "gcn-bilinear"
    with pytest.raises(FileNotFoundError, match="pass dataset"):
        load(trained, tmp_path)
    with pytest.raises(ValueError, match="another event table"):
        load(trained, write_table(tmp_path / "other", name="small", nodes=12, events=48, seed=1))


class Fixed(Forecaster):
    """A family of models that gives every node the same probabilities."""

    shares: tuple[float, ...]

    def probabilities(self, node, at):
        return np.array(self.shares)


def test_another_family_only_gives_probabilities_and_prints_a_line_per_partner():
    model = Fixed("tiny", ["ann", "bob", "cy\x1b[31m\a\0", "dan"])
    model.shares = 0.25, 0.0, 0.7, 0.05
    prediction = model.predict("bob", top=2)
    assert prediction.frame()["partner"].to_list() == ["cy\x1b[31m\a\0", "ann"]
    assert str(prediction) == "   1    70.0%  cy\\u001b[31m\\u0007\\u0000\n   2    25.0%  ann"


def test_a_forecast_close_to_uniform_says_so():
    model = Fixed("tiny", ["ann", "bob", "cy", "dan"])
    model.shares = 0.4, 0.0, 0.3, 0.3
    assert str(model.predict("bob", top=1)).splitlines()[1:] == [
        "The model expects no partner much more than any other: a uniform forecast would give each 33%."
    ]


@pytest.mark.parametrize("key", ["dyrep-concat", "gcn-bilinear"])
def test_a_forecast_beyond_the_end_of_the_data_says_so(key, trained_home):
    model = model_of(trained_home, key)
    last = model.stream.moment(len(model.stream))
    late = last + timedelta(days=5479)
    assert f"{late} is beyond the end of the data, 5,479 days after the last event" in str(
        model.predict(0, late)
    )
    assert "beyond" not in str(model.predict(0, last)) + str(model.predict(0))


def test_a_text_is_a_name_before_it_is_a_number_and_an_int_is_always_a_number():
    model = Fixed("tiny", ["2", "ann", "bob"])
    model.shares = 0.3, 0.3, 0.4
    nodes = ["2", 2, "1", "ann"]
    assert [model.predict(node).node for node in nodes] == ["2", "bob", "ann", "ann"]


def test_importing_the_package_imports_no_torch():
    code = "import sys, model; model.TrainingSettings; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.slow
def test_the_page_on_own_data_trains_on_frames(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "your-own-data.md", "exec"), {})
    ranks = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:4].strip().isdecimal()]
    assert ranks == ["1", "2", "3"] * 2


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
