"""The code location holds every asset of the design, told in words a user understands."""

from pathlib import Path

import pytest
from dagster import Definitions

from assets.definitions import build_definitions
from pipeline.settings import Settings


@pytest.fixture
def definitions(tmp_path: Path) -> Definitions:
    broken = tmp_path / "own" / "letters"
    broken.mkdir(parents=True)
    (broken / "dataset.toml").write_text("title = ")
    return build_definitions(Settings(home=tmp_path))


def test_every_asset_of_the_design_is_there(definitions: Definitions) -> None:
    chain = {"event_table", "trained_models", "no_learn_baselines"}
    assert {key.to_user_string() for key in definitions.resolve_all_asset_keys()} == {
        "gharchive_files",
        "github_events",
        "github/subnetwork",
        "social_evolution_files",
        *(f"{dataset}/{step}" for dataset in ("github", "social_evolution", "letters") for step in chain),
        *("dataset_stats", "link_prediction", "attention_auc", "training_curves"),
        *("figures", "warehouse", "report"),
    }


def test_every_asset_has_a_group_kinds_and_a_description(definitions: Definitions) -> None:
    for spec in definitions.resolve_all_asset_specs():
        assert spec.group_name != "default", spec.key
        assert spec.kinds, spec.key
        assert spec.description, spec.key
        assert len(spec.description) > 40, spec.key


def test_archive_days_begin_with_the_archive_and_a_run_takes_many(definitions: Definitions) -> None:
    days = definitions.resolve_assets_def("github_events")
    assert days.partitions_def is not None
    assert days.partitions_def.get_first_partition_key() == "2011-02-12"
    assert days.backfill_policy is not None
    assert days.backfill_policy.max_partitions_per_run == 31


def test_models_are_partitioned_by_variant(definitions: Definitions) -> None:
    partitions = definitions.resolve_assets_def(["social_evolution", "trained_models"]).partitions_def
    assert partitions is not None
    keys = partitions.get_partition_keys()
    assert {"dyrep-concat", "dyrep-bilinear", "ldg_learned_sparse-bilinear"} <= set(keys)
    assert "dyrep_facebookalltaggedphotos-bilinear" in keys
