"""What the settings choose: which datasets, which variants of each, and which of these are trained first."""

from collections.abc import Sequence

from pipeline.rem_variants import RemVariant
from pipeline.settings import Settings
from pipeline.sources.registry import registry
from pipeline.sources.source import DatasetSpec
from pipeline.variants import Variant, models_for


def chosen_datasets(settings: Settings) -> list[DatasetSpec]:
    """The datasets that LDG_DATASETS names, or every one without it."""
    specs = {spec.name: spec for spec in registry(settings)}
    if unknown := [name for name in settings.datasets if name not in specs]:
        raise ValueError(
            f"LDG_DATASETS names {', '.join(unknown)}; the datasets of this home are {', '.join(specs)}"
        )
    return [specs[name] for name in dict.fromkeys(settings.datasets or specs)]


def chosen_variants(
    specs: Sequence[DatasetSpec], settings: Settings
) -> list[tuple[DatasetSpec, Variant | RemVariant]]:
    """What LDG_VARIANTS names of each dataset; a name must be that of a variant of one of them at least."""
    every = [(spec, variant) for spec in specs for variant in models_for(spec.relations)]
    names = dict.fromkeys(variant.name for _, variant in every)
    if specs and (unknown := [name for name in settings.variants if name not in names]):
        raise ValueError(f"LDG_VARIANTS names {', '.join(unknown)}; the variants are {', '.join(names)}")
    return [(spec, variant) for spec, variant in every if variant.name in settings.variants]


def in_training_order(trainings: Sequence[tuple[DatasetSpec, Variant | RemVariant]]) -> list[list[str]]:
    """`<dataset>/<variant>` of what waits for no other, each followed by those that use its weights."""
    of = {(spec.name, variant.key): variant.needs for spec, variant in trainings}
    chains: dict[tuple[str, str], list[str]] = {}
    for (dataset, key), needs in of.items():
        first = (dataset, needs) if needs is not None and (dataset, needs) in of else (dataset, key)
        chain = chains.setdefault(first, ["/".join(first)])
        if first != (dataset, key):
            chain.append(f"{dataset}/{key}")
    return list(chains.values())
