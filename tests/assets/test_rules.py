"""What a headless run works on is what the settings name; a name that nothing has is an error."""

from pathlib import Path

import pytest

from assets.rules import chosen_datasets, chosen_variants
from pipeline.settings import Settings


def test_datasets_are_those_named_or_all(tmp_path: Path) -> None:
    every = chosen_datasets(Settings(home=tmp_path))
    assert [spec.name for spec in every] == ["github", "social_evolution"]
    named = chosen_datasets(Settings(home=tmp_path, datasets=("social_evolution",)))
    assert [spec.name for spec in named] == ["social_evolution"]


def test_a_dataset_that_is_not_there_is_named_beside_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="names gitub; the datasets of this home are github, social_evolution"
    ):
        chosen_datasets(Settings(home=tmp_path, datasets=("github", "gitub")))


def test_a_variant_may_be_that_of_one_dataset_but_not_of_none(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, variants=("gcn", "dyrep_politicaldiscussant"))
    specs = chosen_datasets(settings)
    assert {(spec.name, variant.key) for spec, variant in chosen_variants(specs, settings)} == {
        *(("github", f"gcn-{how}") for how in ("concat", "bilinear")),
        *(
            ("social_evolution", f"{name}-{how}")
            for name in ("gcn", "dyrep_politicaldiscussant")
            for how in ("concat", "bilinear")
        ),
    }
    with pytest.raises(
        ValueError, match="LDG_VARIANTS names dyrep_politicaldiscussant; the variants are dyrep,"
    ):
        chosen_variants(specs[:1], settings)
