"""What a headless run works on is what the settings name; a name that nothing has is an error."""

from itertools import chain
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.sources.chosen import chosen_datasets, chosen_variants, in_training_order
from pipeline.variants import model_named


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


@pytest.mark.parametrize("name", ["rem_attention", "rem_embeddings"])
def test_a_removed_variant_is_refused_with_what_to_use_instead(tmp_path: Path, name: str) -> None:
    settings = Settings(home=tmp_path, variants=("rem", name))
    with pytest.raises(ValueError, match=f"LDG_VARIANTS: {name} was removed in 0.4: .*; use rem$"):
        chosen_variants(chosen_datasets(settings), settings)
    with pytest.raises(ValueError, match=f"{name}-history was removed in 0.4: .*; use rem-history$"):
        model_named(f"{name}-history", ["Ties"])


def test_what_uses_the_weights_of_another_is_trained_behind_it(tmp_path: Path) -> None:
    names = ("ldg_learned_sparse", "ldg_learned_sparse_freq", "dyrep", "rem")
    settings = Settings(home=tmp_path, datasets=("github",), variants=names)
    chosen = chosen_variants(chosen_datasets(settings), settings)
    chains = in_training_order(chosen)
    assert ["github/rem-history"] in chains
    assert ["github/ldg_learned_sparse-bilinear", "github/ldg_learned_sparse_freq-bilinear"] in chains
    assert sorted(chain.from_iterable(chains)) == sorted(
        f"{spec.name}/{variant.key}" for spec, variant in chosen
    )
    alone = settings.model_copy(update={"variants": ("ldg_learned_sparse_freq",)})
    assert ["github/ldg_learned_sparse_freq-bilinear"] in in_training_order(
        chosen_variants(chosen_datasets(alone), alone)
    )
