"""What a raw source is: what brings its raw material, which datasets it offers, how tables are built."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from pipeline.event_table import EventTable
from pipeline.settings import Settings
from pipeline.storage.things import Thing

Log = Callable[[str], None]
SAMPLE_WORLD = "sample_world"  # the folder of simulated raw files, in a home


@dataclass(frozen=True)
class RawStep:
    """Assets that bring raw material in one run, by key; `daily` ones have a partition for each file day."""

    assets: tuple[str, ...]
    daily: bool = False


@dataclass(frozen=True)
class DatasetSpec:
    """One dataset, a lane of the pipeline.

    `relations` has the dataset's own relations first. `build` makes the event table from raw material that is
    there. A dataset of one's own whose `dataset.toml` is wrong keeps its lane: `problem` says what to
    correct, and building it raises just that.
    """

    name: str
    title: str
    description: str
    source: "Source"
    relations: tuple[str, ...]
    build: Callable[[Settings], EventTable]
    problem: str | None = None


@dataclass(frozen=True)
class Place:
    """Where raw material is published, an address or a path, and the environment variable that names it."""

    where: str
    variable: str

    @property
    def is_simulated(self) -> bool:
        """True if the raw material is that of a sample world, in this home or another one."""
        return Path(self.where).parent.name == SAMPLE_WORLD


def title_of(title: str, place: Place) -> str:
    """Return the title of a dataset; that of simulated data says so."""
    return f"{title} (simulated)" if place.is_simulated else title


def description_of(description: str, place: Place) -> str:
    """Return the description of a dataset; that of simulated data says so first."""
    if not place.is_simulated:
        return description
    return f"Simulated data about no real people, in the format of {description[0].lower()}{description[1:]}"


def named_by_place(table: EventTable, place: Place) -> EventTable:
    """Return the table with a title and a description that say where its data are simulated."""
    words = {
        "title": title_of(table.title, place),
        "description": description_of(table.metadata["description"], place),
    }
    return replace(table, title=words["title"], metadata=table.metadata | words)


class Source(ABC):
    """One raw source, by its `title`.

    `steps` bring its raw material in this order; the last asset is what tables need. `shared_with_table` is
    what homes that share a storage share under the lock of its tables, beside the tables themselves.
    """

    title: ClassVar[str]
    steps: ClassVar[tuple[RawStep, ...]] = ()
    shared_with_table: ClassVar[tuple[Thing, ...]] = ()

    @property
    def upstream(self) -> str | None:
        """The asset that an event table is built from; None if the files are there already."""
        return self.steps[-1].assets[-1] if self.steps else None

    @property
    def is_daily(self) -> bool:
        """Whether the raw material comes day by day."""
        return any(step.daily for step in self.steps)

    @abstractmethod
    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        """The datasets this source offers."""

    def missing(self, settings: Settings) -> str | None:  # noqa: ARG002 - for sources that a setting names
        """Why there is no raw material to be had with these settings, or None if there is."""
        return None

    def place(self, settings: Settings) -> Place | None:  # noqa: ARG002 - for sources that a setting names
        """Where the raw material is published, or None if no setting says so."""
        return None

    def bring_shared(  # noqa: B027 - most raw material is not shared
        self, settings: Settings, work: str, log: Log | None = None
    ) -> None:
        """Bring raw material that other homes have published; `work` is who asks, told to those who wait."""

    def days(self, settings: Settings) -> tuple[date, date]:
        """The first and last file day that the daily steps bring."""
        raise NotImplementedError(f"{type(self).__name__} has no daily steps")

    def version(self, settings: Settings) -> str:
        """The version of these days: another one if and only if what was read of them is another."""
        raise NotImplementedError(f"{type(self).__name__} has no daily steps")
