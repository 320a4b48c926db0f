"""The settings, as each function of the pipeline takes them."""

from collections.abc import Sequence

from model.identity import TrainingSettings
from pipeline.event_table import EventTable, Split
from pipeline.settings import Settings
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork import SubnetworkRule, read_subnetwork, subnetwork_table
from pipeline.sources.registry import DatasetSpec, build_own, registry
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import read_social_evolution
from pipeline.variants import Variant, variants_for


def fetch_settings(settings: Settings) -> FetchSettings:
    """Where and how hour files are fetched."""
    return FetchSettings(base=settings.gharchive_url, largest=settings.largest_hour)


def event_rules(settings: Settings) -> EventRules:
    """Which event types are kept, and as what."""
    return EventRules(
        communications=frozenset(settings.communications), associations=frozenset(settings.associations)
    )


def subnetwork_rule(settings: Settings) -> SubnetworkRule:
    """Who belongs to the dense subnetwork."""
    return SubnetworkRule(
        min_communications=settings.github_min_communications,
        min_associations=settings.github_min_associations,
        start=settings.github_start,
        end=settings.github_end,
        core=settings.github_core,
        max_nodes=settings.github_max_nodes,
    )


def social_evolution_rules(settings: Settings) -> SocialEvolutionRules:
    """Which Social Evolution rows become events."""
    return SocialEvolutionRules(
        min_probability=settings.social_evolution_probability,
        relations=settings.social_evolution_relations,
        start=settings.social_evolution_start,
        test_start=settings.social_evolution_split,
        end=settings.social_evolution_end,
    )


def training_settings(settings: Settings) -> TrainingSettings:
    """How models are trained."""
    return TrainingSettings(
        seeds=tuple(range(settings.seeds)),
        epochs=settings.epochs,
        batch=settings.batch,
        learning_rate=settings.learning_rate,
    )


def datasets(settings: Settings) -> list[DatasetSpec]:
    """Every dataset of this home."""
    return registry(settings.lake, social_evolution_rules(settings))


def chosen_datasets(settings: Settings) -> list[DatasetSpec]:
    """The datasets that LDG_DATASETS names, or every one without it."""
    known = {spec.name: spec for spec in datasets(settings)}
    if unknown := [name for name in settings.datasets if name not in known]:
        raise ValueError(
            f"LDG_DATASETS names {', '.join(unknown)}; the datasets of this home are {', '.join(known)}"
        )
    return [known[name] for name in dict.fromkeys(settings.datasets or known)]


def chosen_variants(specs: Sequence[DatasetSpec], settings: Settings) -> list[tuple[DatasetSpec, Variant]]:
    """What LDG_VARIANTS names of each dataset; a name must be that of a variant of one of them at least."""
    every = [(spec, variant) for spec in specs for variant in variants_for(spec.relations)]
    known = dict.fromkeys(variant.name for _, variant in every)
    if specs and (unknown := [name for name in settings.variants if name not in known]):
        raise ValueError(f"LDG_VARIANTS names {', '.join(unknown)}; the variants are {', '.join(known)}")
    return [(spec, variant) for spec, variant in every if variant.name in settings.variants]


def build_table(spec: DatasetSpec, settings: Settings) -> EventTable:
    """The event table of `spec`, from its source."""
    lake = settings.lake
    if spec.source == "github":
        split = Split(settings.github_split, settings.github_time_zone)
        return subnetwork_table(lake.github_events, read_subnetwork(lake.github_subnetwork), split)
    if spec.source == "social_evolution":
        return social_evolution_table(read_social_evolution(lake), social_evolution_rules(settings))
    return build_own(spec)
