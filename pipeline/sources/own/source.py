"""The user's own events as a source: a dataset for each folder with a `dataset.toml`."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pipeline.event_table import EventTable
from pipeline.settings import Settings
from pipeline.sources.own.dataset_toml import TIES, OwnDataError, read_dataset_toml
from pipeline.sources.own.table import own_table
from pipeline.sources.source import DatasetSpec, Source
from pipeline.text import printable

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class Own(Source):
    """The folders below `$LDG_HOME/own`; their files are read in place.

    `taken` are names of other sources' datasets, which no folder may have.
    """

    title = "Own events"
    taken: frozenset[str]

    def datasets(self, settings: Settings) -> list[DatasetSpec]:
        """Return a dataset for each folder; an error in one is the `problem` of its dataset alone."""
        folders = sorted(toml.parent for toml in settings.lake.own.glob("*/dataset.toml"))
        specs: list[DatasetSpec] = []
        # Valid names first: a substitute for an invalid one must not take the name of another folder.
        for folder in sorted(folders, key=lambda folder: NAME.fullmatch(folder.name) is None):
            specs.append(self.dataset(folder, {*self.taken, *(spec.name for spec in specs)}))
        return specs

    def dataset(self, folder: Path, taken: Collection[str]) -> DatasetSpec:
        """Return the dataset in `folder`, with its `problem` if any; its name is never in `taken`."""
        name, title, bad_name = folder.name, printable(folder.name), None
        if not NAME.fullmatch(name) or name in taken:
            bad_name = (
                f"{printable(str(folder))}: the folder's name is the dataset's name; it takes lower-case "
                f"letters, digits and _, beginning with a letter, and not {', '.join(sorted(taken))}"
            )
            name = free_name(name, taken)

        def build(_: Settings) -> EventTable:
            # The TOML is read again: a correction counts without a reload of the code location.
            if bad_name is not None:
                raise OwnDataError(bad_name)
            return own_table(name, folder)

        try:
            keys = read_dataset_toml(folder / "dataset.toml")
        except Exception as error:  # an error in one folder must not keep the others from loading
            return DatasetSpec(name, title, "", self, (TIES,), build, bad_name or str(error))
        return DatasetSpec(
            name, keys.title or title, keys.description, self, keys.kinds.relations, build, bad_name
        )


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return a valid name near `wanted` that is not in `taken`."""
    base = "own_" + re.sub(r"[^a-z0-9_]", "_", wanted.lower())[:50]
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
