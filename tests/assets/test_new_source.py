"""A raw source is one object: the one of CONTRIBUTING.md gets a lane, its raw files and its event table."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from dagster import AssetKey, AssetMaterialization, DagsterInstance, Definitions

from assets.cli.doctor import source_findings
from assets.headless.plan import left_out, table_steps
from assets.headless.steps import Step
from assets.lanes.dataset import dataset_chain
from assets.refresh import daily_datasets, made_before, version
from pipeline.event_table import read_event_table
from pipeline.settings import Settings
from pipeline.sources.registry import SOURCES, registry
from pipeline.sources.source import DatasetSpec, Place, RawStep, Source
from tests.contributing import example


@pytest.fixture(scope="module")
def letters() -> Source:
    return example("pipeline/sources/letters.py")["Letters"]()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def test_a_new_source_is_listed_beside_the_others_and_its_name_is_taken(
    letters: Source, settings: Settings
) -> None:
    folder = settings.lake.own / "letters"
    folder.mkdir(parents=True)
    (folder / "dataset.toml").write_text("")
    names = [spec.name for spec in registry(settings, (*SOURCES, letters))]
    assert names == ["github", "social_evolution", "letters", "own_letters"]


def test_the_lane_of_a_new_source_is_materialized_from_its_raw_files(
    letters: Source, settings: Settings
) -> None:
    raw = example("assets/lanes/letters.py")["letters_files"]
    (spec,) = letters.datasets(settings)
    definitions = Definitions(assets=[raw, *dataset_chain(spec, settings)], resources={"settings": settings})
    table = definitions.resolve_assets_def(AssetKey(["letters", "event_table"]))
    assert table.asset_deps[AssetKey(["letters", "event_table"])] == {AssetKey("letters_files")}
    keys = ("letters_files", "letters/event_table", "letters/no_learn_baselines")
    job = definitions.resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(asset_selection=[AssetKey.from_user_string(key) for key in keys]).success
    built = read_event_table(settings.lake.dataset("letters"))
    assert built.nodes["name"].to_list() == ["ann", "bob"]
    assert pl.read_parquet(settings.lake.dataset("letters") / "baselines.parquet").height


def test_a_source_that_comes_day_by_day_is_refreshed_as_far_as_it_was_made(
    letters: Source, settings: Settings
) -> None:
    (spec,) = letters.datasets(settings)

    class DailyLetters(Source):
        title = "Letters, day by day"
        steps = (RawStep(("letters_files",), daily=True), RawStep(("letters/index",)))

        def datasets(self, settings: Settings) -> list[DatasetSpec]:
            return [replace(spec, source=self)]

        def version(self, settings: Settings) -> str:
            return "of these letters"

    sources = (*SOURCES, DailyLetters())
    assert version(settings, sources).endswith("-of these letters")
    specs = daily_datasets(sources)
    assert [spec.name for spec in specs] == ["github", "letters"]
    made = [AssetKey(["letters", step]) for step in ("index", "event_table")]
    trained = AssetMaterialization(AssetKey(["letters", "trained_models"]), partition="rem-history")
    with DagsterInstance.ephemeral() as instance:
        for event in (*map(AssetMaterialization, [*made, AssetKey("letters_files")]), trained):
            instance.report_runless_asset_event(event)
        assert made_before(instance, specs) == [*made, AssetKey(["letters", "renewed_models"])]


def test_a_headless_run_brings_the_raw_files_before_the_table(letters: Source, settings: Settings) -> None:
    (spec,) = letters.datasets(settings)
    assert list(table_steps(spec, settings)) == [
        Step((AssetKey("letters_files"),)),
        Step((AssetKey(["letters", "event_table"]), AssetKey(["letters", "no_learn_baselines"]))),
    ]


@dataclass(frozen=True)
class Parcels(Source):
    """A source whose raw files are in a folder that a setting names."""

    title = "Parcels"
    folder: Path | None

    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        return []

    def missing(self, settings: Settings) -> str | None:
        return None if self.folder else "LDG_PARCELS names no folder"

    def place(self, settings: Settings) -> Place:
        return Place(str(self.folder), "LDG_PARCELS")


def test_the_doctor_looks_for_every_source_at_the_place_that_it_names(
    letters: Source, settings: Settings, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    sources = (letters, Parcels(tmp_path), Parcels(gone), Parcels(None))
    assert source_findings(settings, sources) == [
        (True, "Letters: no setting says where it is, nothing to look for"),
        (True, f"Parcels: {tmp_path} is there"),
        (False, f"Parcels: {gone} is not there; LDG_PARCELS names it"),
        (True, "Parcels: left out, LDG_PARCELS names no folder"),
    ]


def test_days_of_the_archive_are_taken_by_the_month(settings: Settings) -> None:
    github = next(spec for spec in registry(settings) if spec.name == "github")
    *days, subnetwork, _ = table_steps(github, settings)
    assert [str(step) for step in days[:2]] == [
        "gharchive_files, github_events 2012-03-11 … 2012-04-10",
        "gharchive_files, github_events 2012-04-11 … 2012-05-11",
    ]
    assert str(days[-1]).endswith("2013-12-31")
    assert subnetwork.assets == (AssetKey(["github", "subnetwork"]),)


def test_a_dataset_that_cannot_be_built_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "broken"
    folder.mkdir(parents=True)
    (folder / "dataset.toml").write_text('[events]\nfile = "none.csv"\n[split]\ntest_start = 2024-01-01\n')
    settings = Settings(home=tmp_path)
    reasons = left_out(registry(settings), settings)
    assert set(reasons) == {"broken", "social_evolution"}
    assert "[events] file is 'none.csv', but there is no file" in reasons["broken"]
    by_name = Settings(home=tmp_path, datasets=("broken",))
    with pytest.raises(ValueError, match=r"LDG_DATASETS names broken, but .*dataset.toml: \[events\] file"):
        left_out(registry(by_name), by_name)


def test_a_source_that_is_missing_is_left_out_unless_it_was_asked_for(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    reasons = left_out(registry(settings), settings)
    assert reasons == {"social_evolution": "LDG_SOCIAL_EVOLUTION names no source"}
    by_name = Settings(home=tmp_path, datasets=("social_evolution",))
    with pytest.raises(ValueError, match="names social_evolution, but LDG_SOCIAL_EVOLUTION names no source"):
        left_out(registry(by_name), by_name)
