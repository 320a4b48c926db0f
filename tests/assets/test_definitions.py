"""The code location holds every asset of the design, told in words a user understands."""

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from dagster import Definitions

from assets.system import build_definitions
from pipeline.lake import Lake
from pipeline.schemas import EVENTS, GITHUB_EVENTS
from pipeline.settings import Settings
from tests.office import write_office


@pytest.fixture
def definitions(tmp_path: Path) -> Definitions:
    broken = tmp_path / "own" / "letters"
    broken.mkdir(parents=True)
    (broken / "dataset.toml").write_text("title = ")
    return build_definitions(Settings(home=tmp_path))


def test_every_asset_of_the_design_is_there(definitions: Definitions) -> None:
    chain = {"event_table", "trained_models", "no_learn_baselines", "waiting_times"}
    assert {key.to_user_string() for key in definitions.resolve_all_asset_keys()} == {
        "gharchive_files",
        "github_events",
        "github/subnetwork",
        "github/renewed_models",
        *("following/archive", "following/day"),
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


def test_archive_days_are_those_of_the_homes_own_window_and_a_run_takes_many(
    definitions: Definitions,
) -> None:
    days = definitions.resolve_assets_def("github_events")
    assert days.partitions_def is not None
    assert days.partitions_def.get_first_partition_key() == "2012-03-11"
    assert days.partitions_def.get_last_partition_key() == "2013-12-31"
    assert days.backfill_policy is not None
    assert days.backfill_policy.max_partitions_per_run == 31
    followed = definitions.resolve_assets_def(["following", "day"]).partitions_def
    assert followed is not None
    assert followed.get_first_partition_key() == "2011-02-12", "any past stretch may be followed"


def test_following_begins_with_the_first_followed_day_of_the_home(tmp_path: Path) -> None:
    days = Lake(tmp_path).following / "days"
    days.mkdir(parents=True)
    for day in ("2024-05-08", "2024-05-09"):
        (days / f"{day}.json").touch()
    for step in ("archive", "day"):
        followed = build_definitions(Settings(home=tmp_path)).resolve_assets_def(["following", step])
        assert followed.partitions_def is not None
        assert followed.partitions_def.get_first_partition_key() == "2024-05-08"


def test_words_of_ones_own_dataset_are_no_markup_in_its_descriptions(tmp_path: Path) -> None:
    write_office(tmp_path)
    toml = Lake(tmp_path).own / "office" / "dataset.toml"
    markup = r"<img src=x> ![pixel](http://example.org/p.png) \![pixel](http://example.org/q.png)"
    office = toml.read_text().replace("The office", "Office ![title](http://example.org/t.png)")
    toml.write_text(f"description = '{markup}'\n{office}")
    specs = build_definitions(Settings(home=tmp_path)).resolve_all_asset_specs()
    descriptions = {spec.key.to_user_string(): spec.description or "" for spec in specs}
    assert "Office !\\[title\\]" in descriptions["office/trained_models"]
    assert "pixel" in descriptions["office/event_table"]
    unescaped = re.compile(r"(?<!\\)(\\\\)*[<\[]")
    assert [text for key, text in descriptions.items() if "office" in key and unescaped.search(text)] == []


def test_partitions_are_the_chosen_models_and_those_that_were_trained_before(tmp_path: Path) -> None:
    (tmp_path / "models" / "social_evolution" / "dyrep_facebookalltaggedphotos-bilinear").mkdir(parents=True)
    definitions = build_definitions(Settings(home=tmp_path, variants=("dyrep", "rem")))
    partitions = definitions.resolve_assets_def(["social_evolution", "trained_models"]).partitions_def
    assert partitions is not None
    assert set(partitions.get_partition_keys()) == {
        "dyrep-concat",
        "dyrep-bilinear",
        "dyrep_facebookalltaggedphotos-bilinear",
        "rem-history",
    }


def test_every_asset_has_an_owner_tags_a_version_of_its_code_and_a_document(definitions: Definitions) -> None:
    for spec in definitions.resolve_all_asset_specs():
        assert spec.owners, spec.key
        assert spec.code_version, spec.key
        assert spec.tags["ldg/step"] == spec.key.path[-1]
        assert Path(spec.metadata["docs"].value).is_file(), spec.key


def test_columns_are_told_as_the_schemas_have_them(definitions: Definitions) -> None:
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    for key, table in (("github/event_table", EVENTS), ("github_events", GITHUB_EVENTS)):
        columns = specs[key].metadata["dagster/column_schema"].columns
        assert [(one.name, one.type, one.description) for one in columns] == [
            (one.name, one.sql_type, one.description) for one in table.columns
        ]


def test_the_archive_must_be_fresh_where_the_window_reaches_to_the_present_or_it_is_followed(
    tmp_path: Path,
) -> None:
    today = datetime.now(UTC).date()
    for end, expected in ((today, True), (date(2013, 12, 31), False)):
        specs = build_definitions(Settings(home=tmp_path, github_end=end)).resolve_all_asset_specs()
        due = {spec.key.to_user_string() for spec in specs if spec.freshness_policy is not None}
        assert due == {"following/day", *(("gharchive_files", "github_events") if expected else ())}


def test_nothing_is_trained_on_a_table_that_breaks_its_contract(definitions: Definitions) -> None:
    table = definitions.resolve_assets_def(["github", "event_table"])
    (check,) = table.check_specs
    assert (check.name, check.blocking) == ("well_formed", True)
