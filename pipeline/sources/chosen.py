"""Selection by settings: the datasets, the variants of each, and the order of training."""

from collections.abc import Sequence

from pipeline.rem_variants import RemVariant, explain_removal
from pipeline.settings import SettingError, Settings, given_name, values_in_force, variable
from pipeline.sources.registry import registry
from pipeline.sources.source import DatasetSpec
from pipeline.text import printable, suggest_name
from pipeline.variants import Variant, models_for

PAPER_ONLY = ("epochs", "batch", "learning_rate")  # settings without effect on relational-event models


def chosen_datasets(settings: Settings) -> list[DatasetSpec]:
    """Return the datasets that LDG_DATASETS names, or all of them if it is empty."""
    specs = {spec.name: spec for spec in registry(settings)}
    if unknown := [name for name in settings.datasets if name not in specs]:
        raise SettingError(
            f"{given_name('datasets')} names {', '.join(map(printable, unknown))}; the datasets of this home "
            f"are {', '.join(specs)}{suggest_name(unknown[0], specs)}"
        )
    return [specs[name] for name in dict.fromkeys(settings.datasets or specs)]


def chosen_variants(
    specs: Sequence[DatasetSpec], settings: Settings
) -> list[tuple[DatasetSpec, Variant | RemVariant]]:
    """Return each dataset's variants that LDG_VARIANTS names; raise for a name that no dataset has."""
    every = [(spec, variant) for spec in specs for variant in models_for(spec.relations)]
    names = dict.fromkeys(variant.name for _, variant in every)
    for removal in filter(None, map(explain_removal, settings.variants)):
        raise SettingError(f"{given_name('variants')}: {removal}")
    if specs and (unknown := [name for name in settings.variants if name not in names]):
        raise SettingError(
            f"{given_name('variants')} names {', '.join(map(printable, unknown))}; the variants are "
            f"{', '.join(names)}{suggest_name(unknown[0], names)}"
        )
    return [(spec, variant) for spec, variant in every if variant.name in settings.variants]


def check_used_settings(variants: Sequence[Variant | RemVariant]) -> list[str]:
    """Return a warning for each line of a `.env` that affects none of the chosen variants.

    A setting given for this command alone, by an option or in the shell, raises `SettingError` instead. A
    `.env` serves every command on a home: the sample world's has settings for DyRep and LDG.
    """
    if not variants or any(isinstance(variant, Variant) for variant in variants):
        return []
    chosen = ", ".join(dict.fromkeys(variant.key for variant in variants))
    warnings = []
    for name, value in values_in_force().items():
        if name not in map(variable, PAPER_ONLY) or not value.text.strip():
            continue
        unused = (
            f"{name} is {printable(value.text.strip())!r} in {value.source}, but it reaches only the paper's "
            f"models (DyRep, LDG), not {chosen}"
        )
        if value.is_of_command:
            raise SettingError(f"{unused}: leave it out, or choose a model of the paper")
        warnings.append(unused)
    return warnings


def in_training_order(trainings: Sequence[tuple[DatasetSpec, Variant | RemVariant]]) -> list[list[str]]:
    """Return chains of `<dataset>/<variant>`: an independent one, then those that use its weights."""
    of = {(spec.name, variant.key): variant.needs for spec, variant in trainings}
    chains: dict[tuple[str, str], list[str]] = {}
    for (dataset, key), needs in of.items():
        first = (dataset, needs) if needs is not None and (dataset, needs) in of else (dataset, key)
        chain = chains.setdefault(first, ["/".join(first)])
        if first != (dataset, key):
            chain.append(f"{dataset}/{key}")
    return list(chains.values())
