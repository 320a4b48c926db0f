"""Each job can be launched as it is, and does what its name says."""

import json
from pathlib import Path

from dagster import (
    AssetKey,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
    validate_run_config,
)

from assets.system import build_definitions
from pipeline.settings import Settings

JOBS = ("train_chosen", "refresh_results")
OFFICE = AssetKey(["office", "trained_models"])


def launch(
    definitions: Definitions, name: str, instance: DagsterInstance, config: dict | None = None
) -> ExecuteInProcessResult:
    job = definitions.resolve_job_def(name)
    return job.execute_in_process(run_config=config or {}, instance=instance, raise_on_error=False)


def test_every_job_is_described_and_takes_no_config_to_launch(tmp_path: Path) -> None:
    definitions = build_definitions(Settings(home=tmp_path))
    for name in JOBS:
        job = definitions.resolve_job_def(name)
        assert job.description, name
        assert len(job.description) > 40, name
        assert validate_run_config(job, {}), name


def test_what_is_chosen_is_trained_with_the_config_and_counts_as_materialized(office: Settings) -> None:
    settings = office.model_copy(update={"datasets": ("office",), "variants": ("dyrep",)})
    definitions = build_definitions(settings)
    with DagsterInstance.ephemeral() as instance:
        assert not launch(definitions, "train_chosen", instance).success  # there is no event table yet
        definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            asset_selection=[AssetKey(["office", "event_table"])], instance=instance
        )
        assert launch(
            definitions, "train_chosen", instance, {"ops": {"train": {"config": {"epochs": 2}}}}
        ).success
        assert instance.get_materialized_partitions(OFFICE) == {"dyrep-concat", "dyrep-bilinear"}
    for key in ("dyrep-concat", "dyrep-bilinear"):
        facts = json.loads((settings.lake.model("office", key) / "model.json").read_text())
        assert facts["settings"]["epochs"] == 2
