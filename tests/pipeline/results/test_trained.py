"""A training is finished once model.json is there, and only counts for the event table it learned from."""

import shutil
import subprocess
import sys

import pytest

from pipeline.lake import Lake
from pipeline.results.trained import current_variants, finished, read_facts, trained_variants, with_records
from tests.small_world import store_table, store_variant


@pytest.fixture(scope="module")
def home_of_trained(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with two trainings, which nobody changes."""
    lake = Lake(tmp_path_factory.mktemp("trained"))
    table = store_table(lake)
    for variant in ("dyrep-concat", "ldg_learned_sparse-bilinear"):
        store_variant(lake, table, variant)
    return lake


@pytest.fixture
def two_trainings(home_of_trained: Lake, lake: Lake) -> Lake:
    """The same home, to be changed."""
    shutil.copytree(home_of_trained.home, lake.home)
    return lake


def keys(lake: Lake) -> list[str]:
    return [one.key for one in trained_variants(lake, "toy")]


def test_a_folder_without_model_json_is_unfinished(two_trainings: Lake) -> None:
    folder = two_trainings.model("toy", "dyrep-concat")
    (folder / "model.json").unlink()
    assert read_facts(folder) is None
    assert finished(folder, {}) is None
    assert keys(two_trainings) == ["ldg_learned_sparse-bilinear"]


def test_a_training_is_the_same_when_all_that_is_expected_agrees(two_trainings: Lake) -> None:
    folder = two_trainings.model("toy", "dyrep-concat")
    facts = read_facts(folder)
    assert facts is not None
    assert finished(folder, {"fingerprint": facts["fingerprint"]}) == facts
    assert finished(folder, {"fingerprint": facts["fingerprint"], "settings": {}}) is None


def test_a_training_of_an_earlier_event_table_is_finished_but_not_current(two_trainings: Lake) -> None:
    store_table(two_trainings, seed=1)
    assert keys(two_trainings) == ["dyrep-concat", "ldg_learned_sparse-bilinear"]
    assert current_variants(two_trainings, "toy") == []


def test_a_training_without_such_records_is_left_out(two_trainings: Lake) -> None:
    (two_trainings.model("toy", "dyrep-concat") / "attention.parquet").unlink()
    with_attention = with_records(current_variants(two_trainings, "toy"), "attention")
    assert [one.key for one in with_attention] == ["ldg_learned_sparse-bilinear"]


def test_a_folder_with_a_strange_name_is_told(two_trainings: Lake) -> None:
    shutil.copytree(two_trainings.model("toy", "dyrep-concat"), two_trainings.model("toy", "copy of dyrep"))
    with pytest.raises(ValueError, match="copy of dyrep"):
        trained_variants(two_trainings, "toy")


def test_asking_whether_a_training_is_finished_loads_neither_torch_nor_duckdb() -> None:
    heavy = {"torch", "duckdb", "networkx"}
    script = f"import sys, pipeline.results.trained; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
