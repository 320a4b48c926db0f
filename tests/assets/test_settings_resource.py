"""The settings are a resource that Dagster knows: shown, checked, and rules may be changed for one run."""

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

from assets.settings_resource import settings_resource
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
    config = {"github_core": True, "variants": ["dyrep", "gcn"], "github_end": "2013-06-30"}
    changed = resolved(settings, config)
    assert changed == settings.model_copy(
        update={
            "github_core": True,
            "variants": ("dyrep", "gcn"),
            "github_end": changed.github_end,
        }
    )
    assert changed.github_end.isoformat() == "2013-06-30"


def test_unknown_keys_and_wrong_values_are_refused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(DagsterInvalidConfigError, match="github_cor"):
        resolved(settings, {"github_cor": True})
    with pytest.raises(DagsterResourceFunctionError) as refused:
        resolved(settings, {"github_end": "soon"})
    assert "LDG_GITHUB_END is 'soon' in the run's config; it takes a date" in str(refused.value.__cause__)


def test_a_run_cannot_change_where_anything_is_nor_how_models_are_trained(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    places = ("home", "storage", "store", "cluster", "gharchive_url", "social_evolution", "ui_hosts")
    for name in (*places, "alert_webhook", "alert_command", "keep_raw", "follow_keep_raw", "seeds", "epochs"):
        with pytest.raises(DagsterInvalidConfigError, match=f'unexpected config entry "{name}"'):
            resolved(settings, {name: "elsewhere"})
