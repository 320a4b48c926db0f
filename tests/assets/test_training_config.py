"""A training is configured in the run: with bounds, with the settings as defaults, and it trains with it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, DagsterInvalidConfigError, Definitions, ExecuteInProcessResult

from assets.headless.plan import trained_otherwise
from assets.lanes.dataset import dataset_chain
from assets.settings_resource import settings_resource
from assets.training_config import training_config, training_settings
from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from pipeline.results.trained import read_facts
from pipeline.settings import Settings
from pipeline.sources.registry import registry
from pipeline.variants import model_named

DYREP, LDG, REM = (
    model_named(key, ["Ties"]) for key in ("dyrep-concat", "ldg_learned_sparse-concat", "rem-history")
)


def materialize(
    settings: Settings, asset: str, partition: str | None = None, config: dict | None = None
) -> ExecuteInProcessResult:
    (spec,) = (spec for spec in registry(settings) if spec.name == "office")
    resources = {"settings": settings_resource(settings)}
    chain = Definitions(assets=dataset_chain(spec, settings), resources=resources)
    return chain.resolve_implicit_global_asset_job_def().execute_in_process(
        asset_selection=[AssetKey(["office", asset])],
        partition_key=partition,
        run_config={"ops": {"office__trained_models": {"config": config}}} if config else {},
        instance=DagsterInstance.ephemeral(),
    )


def trained_with(folder: Path) -> dict[str, Any]:
    facts = read_facts(folder)
    assert facts is not None
    return facts["settings"]


def test_what_is_not_given_is_as_the_settings_say() -> None:
    settings = Settings(seeds=3, epochs=7, batch=11, learning_rate=0.01)
    config = training_config(settings)()
    assert config.settings(DYREP) == training_settings(settings)
    assert config.settings(REM) == RemSettings(seeds=(0, 1, 2))
    assert config.variant(LDG) == LDG


def test_what_is_given_reaches_the_model_it_is_for() -> None:
    config = training_config(Settings())(
        seeds=2, epochs=1, batch=50, learning_rate=0.5, d=8, edge_types=3, rem={"epochs": 2, "candidates": 5}
    )
    assert config.settings(LDG) == TrainingSettings((0, 1), epochs=1, batch=50, learning_rate=0.5, d=8)
    assert config.settings(REM) == RemSettings((0, 1), epochs=2, candidates=5)
    assert config.variant(LDG) == replace(LDG, edge_types=3)
    assert config.variant(REM) == replace(REM, edge_types=3)
    assert config.variant(DYREP) == DYREP


@pytest.mark.parametrize(
    ("config", "variant", "message"),
    [
        ({"epochs": 9}, REM, "epochs means nothing to rem-history .below rem are those it takes.: leave it"),
        ({"d": 8}, REM, "d means nothing to rem-history: leave it out"),
        ({"rem": {"epochs": 9}}, DYREP, "rem means nothing to dyrep-concat: leave it out"),
        ({"edge_types": 3}, DYREP, "edge_types means nothing to dyrep-concat: leave it out"),
    ],
)
def test_what_a_model_does_not_ask_for_is_refused_and_not_ignored(config, variant, message) -> None:
    with pytest.raises(ValueError, match=message):
        training_config(Settings())(**config).refuse_vain(variant)


@pytest.mark.parametrize(
    "wrong",
    [{"seeds": 0}, {"epochs": 0}, {"learning_rate": 0}, {"learning_rate": 2}, {"d": 1}, {"threads": 0}],
)
def test_values_out_of_bounds_are_refused(wrong) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        training_config(Settings())(**wrong)


def test_a_changed_config_is_trained_with_and_replaces_what_was_trained_otherwise_with_a_line(
    office_with_table: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    office = office_with_table
    folder = office.lake.model("office", "dyrep-concat")
    assert materialize(office, "trained_models", "dyrep-concat").success
    assert trained_with(folder)["epochs"] == 1
    assert "trained otherwise" not in capfd.readouterr().err

    result = materialize(office, "trained_models", "dyrep-concat", {"epochs": 2, "d": 4})
    assert (trained_with(folder)["epochs"], trained_with(folder)["d"]) == (2, 4)
    (event,) = result.asset_materializations_for_node("office__trained_models")
    assert event.metadata["settings"].value == trained_with(folder)
    assert {"mar", "hits_at_10", "mrr"} <= event.metadata.keys()
    assert (
        "dyrep-concat was trained otherwise (epochs 1, not 2; d 32, not 4): it is trained anew"
        in capfd.readouterr().err
    )


def test_a_headless_run_knows_what_was_trained_otherwise_than_the_settings_say(
    office_with_table: Settings,
) -> None:
    office = office_with_table
    (spec,) = (spec for spec in registry(office) if spec.name == "office")
    variant = model_named("dyrep-concat", spec.relations)
    assert trained_otherwise(spec, variant, office) == []
    assert materialize(office, "trained_models", variant.key, {"epochs": 2}).success
    assert trained_otherwise(spec, variant, office) == ["epochs 2, not 1"]


def test_a_key_that_does_not_exist_is_refused_before_anything_runs(office: Settings) -> None:
    with pytest.raises(DagsterInvalidConfigError, match='unexpected config entry "epoch"'):
        materialize(office, "trained_models", "dyrep-concat", {"epoch": 2})
    assert not office.lake.model("office", "dyrep-concat").exists()


def test_the_measures_of_a_training_and_those_of_the_best_baseline_are_its_only_numbers(
    office_with_table: Settings,
) -> None:
    assert materialize(office_with_table, "no_learn_baselines").success
    result = materialize(office_with_table, "trained_models", "dyrep-concat")
    (event,) = result.asset_materializations_for_node("office__trained_models")
    mar, best = (event.metadata[name].value for name in ("mar", "mar_of_best_baseline"))
    assert isinstance(mar, float)
    assert isinstance(best, float)
    numbers = {name for name, value in event.metadata.items() if isinstance(value.value, int | float)}
    metrics = {"mar", "hits_at_10", "mrr"}
    assert numbers == {"training_seconds", *metrics, *(f"{metric}_of_best_baseline" for metric in metrics)}
    verdicts = {check.check_name: check for check in result.get_asset_check_evaluations()}
    assert verdicts.keys() == {"beats_best_baseline", "did_not_diverge", "graph_not_degenerate"}
    assert {check.partition for check in verdicts.values()} == {"dyrep-concat"}
    assert verdicts["beats_best_baseline"].passed is (mar < best)
