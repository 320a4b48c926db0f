"""The settings are a resource that Dagster knows: shown, checked, and changed for one run."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from dagster import (
    DagsterInstance,
    DagsterInvalidConfigError,
    DagsterResourceFunctionError,
    Definitions,
    ResourceParam,
    asset,
)

from assets.settings_resource import field_of_setting, setting_in_config, settings_resource
from pipeline.settings import Settings


def resolved(settings: Settings, config: Mapping[str, object]) -> Settings:
    """The settings that a run with this config gets."""
    seen: list[Settings] = []

    @asset
    def reader(settings: ResourceParam[Settings]) -> None:
        seen.append(settings)

    definitions = Definitions(assets=[reader], resources={"settings": settings_resource(settings)})
    definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        run_config={"resources": {"settings": {"config": config}}}, instance=DagsterInstance.ephemeral()
    )
    return seen[0]


def test_without_a_config_a_run_has_the_settings_as_they_are(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path,
        variants=("rem",),
        github_max_nodes=7,
        seeds=4,
        alert_webhook="https://example.org/secret",
        gharchive_url="https://user:password@example.org/archive?key=1",
    )
    assert resolved(settings, {}) == settings


def test_a_run_changes_what_its_config_names_and_nothing_else(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, variants=("rem",))
    config = {"keep_raw": False, "variants": ["dyrep", "gcn"], "github_end": "2013-06-30"}
    changed = resolved(settings, config)
    assert changed == settings.model_copy(
        update={
            "keep_raw": False,
            "variants": ("dyrep", "gcn"),
            "github_end": changed.github_end,
        }
    )
    assert changed.github_end.isoformat() == "2013-06-30"


def test_unknown_keys_and_wrong_values_are_refused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(DagsterInvalidConfigError, match="keep_row"):
        resolved(settings, {"keep_row": True})
    with pytest.raises(DagsterResourceFunctionError) as refused:
        resolved(settings, {"github_end": "soon"})
    assert "LDG_GITHUB_END is 'soon' in the run's config; it takes a date" in str(refused.value.__cause__)


def test_how_models_are_trained_is_the_config_of_a_training_and_no_secret_is_shown(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path,
        gharchive_url="https://user:password@example.org/archive?key=1",
        alert_webhook="https://example.org/T0/B0/token",
    )
    for name in ("seeds", "epochs", "batch", "learning_rate", "alert_webhook", "alert_command"):
        with pytest.raises(DagsterInvalidConfigError, match=name):
            resolved(settings, {name: 1})
    shown = field_of_setting("gharchive_url", setting_in_config(settings.gharchive_url))
    assert shown.default_value == "https://example.org/archive"
