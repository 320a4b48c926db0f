"""Social Evolution as a source: the dataset of this name, and its rules from the settings."""

from pipeline.event_table import EventTable
from pipeline.settings import Settings, variable
from pipeline.sources.social_evolution.events import (
    CONTENT,
    DATASET,
    TITLE,
    SocialEvolutionRules,
    social_evolution_table,
)
from pipeline.sources.social_evolution.files import read_social_evolution
from pipeline.sources.social_evolution.relations import RELATIONS
from pipeline.sources.source import (
    DatasetSpec,
    Place,
    RawStep,
    Source,
    description_of,
    named_by_place,
    title_of,
)


class SocialEvolution(Source):
    """The archive of an undergraduate dormitory, a zip, a folder or a URL that LDG_SOCIAL_EVOLUTION names."""

    title = TITLE
    steps = (RawStep(("social_evolution_files",)),)

    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        """Return the one dataset; the relations that its association events form come first."""
        own = social_evolution_rules(settings).relations
        return [
            DatasetSpec(
                DATASET,
                title_of(TITLE, self.place(settings)),
                description_of(f"{CONTENT}.", self.place(settings)),
                self,
                (*own, *(relation for relation in RELATIONS if relation not in own)),
                table_of_settings,
            )
        ]

    def missing(self, settings: Settings) -> str | None:
        """Return the reason if no archive is set: nothing is fetched by default."""
        return None if settings.social_evolution else "LDG_SOCIAL_EVOLUTION names no source"

    def place(self, settings: Settings) -> Place:
        """Return the location of the zip, folder or URL."""
        return Place(settings.social_evolution, variable("social_evolution"))


def table_of_settings(settings: Settings) -> EventTable:
    """Build the event table of the stored files by the rules in the settings."""
    table = social_evolution_table(read_social_evolution(settings.lake), social_evolution_rules(settings))
    return named_by_place(table, SocialEvolution().place(settings))


def social_evolution_rules(settings: Settings) -> SocialEvolutionRules:
    """Return the rules by which Social Evolution rows become events."""
    return SocialEvolutionRules(
        min_probability=settings.social_evolution_probability,
        relations=settings.social_evolution_relations,
        start=settings.social_evolution_start,
        test_start=settings.social_evolution_split,
        end=settings.social_evolution_end,
    )
