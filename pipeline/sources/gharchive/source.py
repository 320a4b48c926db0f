"""GH Archive as a source: the dataset `github`, and what the settings ask of the archive."""

from datetime import date

from pipeline.event_table import EventTable, Split
from pipeline.settings import Settings, variable
from pipeline.sources.gharchive.days import bring_shared
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork import (
    DATASET,
    TITLE,
    own_relations,
    read_subnetwork,
    subnetwork_table,
)
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule
from pipeline.sources.gharchive.versions import version_of_days
from pipeline.sources.source import (
    DatasetSpec,
    Log,
    Place,
    RawStep,
    Source,
    description_of,
    named_by_place,
    title_of,
)
from pipeline.storage.things import subnetwork


class GitHub(Source):
    """Public events on GitHub: hour files become events, events a dense subnetwork."""

    title = "GH Archive"
    steps = (RawStep(("gharchive_files", "github_events"), daily=True), RawStep(("github/subnetwork",)))
    shared_with_table = (subnetwork(),)

    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        """The dense subnetwork; its relations are the types of events that are associations."""
        return [
            DatasetSpec(
                DATASET,
                title_of(TITLE, self.place(settings)),
                description_of(
                    "The dense subnetwork of GH Archive: who watches, forks, discusses and follows.",
                    self.place(settings),
                ),
                self,
                own_relations(name.removesuffix("Event") for name in settings.associations),
                github_table,
            )
        ]

    def place(self, settings: Settings) -> Place:
        """The archive itself, or a folder of its hour files."""
        return Place(settings.gharchive_url, variable("gharchive_url"))

    def bring_shared(self, settings: Settings, work: str, log: Log | None = None) -> None:
        """Bring the days of the window that another home has read."""
        bring_shared(settings.lake, *self.days(settings), work, log)

    def days(self, settings: Settings) -> tuple[date, date]:
        """From the first day of earlier follows to the end of the window."""
        return settings.github_history, settings.last_github_day()

    def version(self, settings: Settings) -> str:
        """The version of the accounts of these days."""
        return version_of_days(settings.lake, *self.days(settings))


def github_table(settings: Settings) -> EventTable:
    """What the members of the stored subnetwork do among themselves."""
    lake = settings.lake
    split = Split(settings.github_split, settings.github_time_zone)
    table = subnetwork_table(lake.github_events, read_subnetwork(lake.github_subnetwork), split)
    return named_by_place(table, GitHub().place(settings))


def fetch_settings(settings: Settings) -> FetchSettings:
    """Where and how hour files are fetched."""
    return FetchSettings(base=settings.gharchive_url, largest=settings.largest_hour)


def event_rules(settings: Settings) -> EventRules:
    """Which event types are kept, and as what."""
    return EventRules(
        communications=frozenset(settings.communications), associations=frozenset(settings.associations)
    )


def subnetwork_rule(settings: Settings) -> SubnetworkRule:
    """The rule of the dense subnetwork as the source's settings ask for it."""
    return SubnetworkRule(
        min_communications=settings.github_min_communications,
        min_associations=settings.github_min_associations,
        start=settings.github_start,
        end=settings.github_end,
        core=settings.github_core,
        max_nodes=settings.github_max_nodes,
    )
