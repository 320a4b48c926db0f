"""Interface of a raw source: the steps that bring its raw material, its datasets, their event tables."""

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

    `relations` has the dataset's own relations first. `build` makes the event table from raw material that
    is present. A user's dataset with an invalid `dataset.toml` stays listed: `problem` says what to correct,
    and `build` raises the same error.
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
    """Location of raw material, an address or a path, and the environment variable that names it."""

    where: str
    variable: str

    @property
    def is_simulated(self) -> bool:
        """Return whether the raw material is that of a sample world, in this home or another one."""
        return Path(self.where).parent.name == SAMPLE_WORLD


def title_of(title: str, place: Place) -> str:
    """Return the title of a dataset, marked if the data are simulated."""
    return f"{title} (simulated)" if place.is_simulated else title


def description_of(description: str, place: Place) -> str:
    """Return the description of a dataset, which begins with a remark if the data are simulated."""
    if not place.is_simulated:
        return description
    return f"Simulated data about no real people, in the format of {description[0].lower()}{description[1:]}"


def named_by_place(table: EventTable, place: Place) -> EventTable:
    """Return the table with a title and a description that say if its data are simulated."""
    words = {
        "title": title_of(table.title, place),
        "description": description_of(table.metadata["description"], place),
    }
    return replace(table, title=words["title"], metadata=table.metadata | words)


class Source(ABC):
    """One raw source, by its `title`.

    `steps` bring its raw material in this order; tables depend on the last asset. `shared_with_table` is
    published to a shared storage under the lock of its tables, together with these.
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
        """Return whether the raw material comes day by day."""
        return any(step.daily for step in self.steps)

    @abstractmethod
    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        """Return the datasets this source offers."""

    def missing(self, settings: Settings) -> str | None:  # noqa: ARG002 - for sources that a setting names
        """Return why these settings give no raw material, or None if they do."""
        return None

    def place(self, settings: Settings) -> Place | None:  # noqa: ARG002 - for sources that a setting names
        """Return the location of the raw material, or None if no setting names it."""
        return None

    def bring_shared(  # noqa: B027 - most raw material is not shared
        self, settings: Settings, work: str, log: Log | None = None
    ) -> None:
        """Bring raw material that other homes have published; `work` names the caller in lock messages."""

    def days(self, settings: Settings) -> tuple[date, date]:
        """Return the first and last file day that the daily steps bring."""
        raise NotImplementedError(f"{type(self).__name__} has no daily steps")

    def version(self, settings: Settings) -> str:
        """Return the data version of these days, a hash of their content."""
        raise NotImplementedError(f"{type(self).__name__} has no daily steps")
