"""GH Archive as a source: the dataset `github`, and its settings."""

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
        """Return the dense subnetwork as a dataset; its relations are the association event types."""
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
        """Return the archive's address, or the folder of its hour files."""
        return Place(settings.gharchive_url, variable("gharchive_url"))

    def bring_shared(self, settings: Settings, work: str, log: Log | None = None) -> None:
        """Bring the days in use that another home has published."""
        bring_shared(settings.lake, *self.days(settings), work, log)

    def days(self, settings: Settings) -> tuple[date, date]:
        """Return the first day of the follow history and the last day of the window."""
        return settings.github_history, settings.last_github_day()

    def version(self, settings: Settings) -> str:
        """Return the content hash of these days' ledgers."""
        return version_of_days(settings.lake, *self.days(settings))


def github_table(settings: Settings) -> EventTable:
    """Build the event table of the stored subnetwork."""
    lake = settings.lake
    split = Split(settings.github_split, settings.github_time_zone)
    table = subnetwork_table(lake.github_events, read_subnetwork(lake.github_subnetwork), split)
    return named_by_place(table, GitHub().place(settings))


def fetch_settings(settings: Settings) -> FetchSettings:
    """Return the settings for fetching hour files."""
    return FetchSettings(base=settings.gharchive_url, largest=settings.largest_hour)


def event_rules(settings: Settings) -> EventRules:
    """Return the event types to keep, by kind."""
    return EventRules(
        communications=frozenset(settings.communications), associations=frozenset(settings.associations)
    )


def subnetwork_rule(settings: Settings) -> SubnetworkRule:
    """Return the membership rule of the dense subnetwork."""
    return SubnetworkRule(
        min_communications=settings.github_min_communications,
        min_associations=settings.github_min_associations,
        start=settings.github_start,
        end=settings.github_end,
        core=settings.github_core,
        max_nodes=settings.github_max_nodes,
    )
