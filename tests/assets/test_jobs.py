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

JOBS = ("train_chosen", "refresh_results", "reproduce_paper", "backfill_archive")
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


def test_the_archive_is_asked_for_by_one_backfill_of_the_days_that_are_missing(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {
            "LDG_HOME": str(tmp_path),
            "LDG_GITHUB_HISTORY": "2015-01-01",
            "LDG_GITHUB_START": "2015-01-01",
            "LDG_GITHUB_END": "2015-01-04",
        }
    )
    definitions = build_definitions(settings)
    with DagsterInstance.ephemeral() as instance:
        assert launch(definitions, "backfill_archive", instance).success
        (backfill,) = instance.get_backfills()
        assert backfill.asset_backfill_data is not None
        days = backfill.asset_backfill_data.target_subset
        keys = days.get_partitions_subset(AssetKey("github_events")).get_partition_keys()
        assert sorted(keys) == ["2015-01-01", "2015-01-02", "2015-01-03", "2015-01-04"]


def test_days_out_of_order_fail_the_backfill_in_words(tmp_path: Path) -> None:
    definitions = build_definitions(Settings(home=tmp_path))
    days = {"ops": {"request_backfill": {"config": {"first": "2015-01-02", "last": "2015-01-01"}}}}
    done = launch(definitions, "backfill_archive", DagsterInstance.ephemeral(), days)
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    assert "they must be in this order" in str(failure.step_failure_data.error)


def test_the_papers_job_says_what_it_needs_where_the_home_is_another(tmp_path: Path) -> None:
    definitions = build_definitions(Settings(home=tmp_path))
    done = launch(definitions, "reproduce_paper", DagsterInstance.ephemeral())
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    assert "This home is not that of the paper's experiments" in str(failure.step_failure_data.error)
