"""The registry of datasets: the paper's two, and every folder of one's own events."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.sources.own.own_data import TIES, OwnDataError, own_table, read_dataset_toml
from pipeline.sources.social_evolution.events import RELATIONS, SocialEvolutionRules

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class DatasetSpec:
    """One dataset, a lane of the pipeline. `relations` has the dataset's own relations first.

    A dataset of one's own whose `dataset.toml` is wrong keeps its lane: `problem` says what to correct, and
    building it raises just that.
    """

    name: str
    title: str
    description: str
    source: Literal["github", "social_evolution", "own"]
    relations: tuple[str, ...]
    folder: Path | None = None
    problem: str | None = None


def registry(lake: Lake, rules: SocialEvolutionRules | None = None) -> list[DatasetSpec]:
    """Every dataset: `github`, `social_evolution`, and each folder of `lake.own` with a `dataset.toml`.

    `rules` are those the Social Evolution table is built with; they say which relations are its own.
    """
    own = (rules or SocialEvolutionRules()).relations
    specs = [
        DatasetSpec(
            "github",
            "GitHub",
            "The dense subnetwork of GH Archive: who watches, forks, discusses and follows.",
            "github",
            ("Follow",),
        ),
        DatasetSpec(
            "social_evolution",
            "Social Evolution",
            "Calls, SMS, proximity and friendships of an undergraduate dormitory.",
            "social_evolution",
            (*own, *(relation for relation in RELATIONS if relation not in own)),
        ),
    ]
    folders = sorted(toml.parent for toml in lake.own.glob("*/dataset.toml"))
    # Good names first: a stand-in for a bad one must not take the name of a folder that has it by right.
    for folder in sorted(folders, key=lambda folder: NAME.fullmatch(folder.name) is None):
        specs.append(own_spec(folder, {spec.name for spec in specs}))
    return specs


def own_spec(folder: Path, taken: set[str]) -> DatasetSpec:
    """The spec of the dataset in `folder`, with its problem if there is one; its name is never in `taken`."""
    problem = None
    if not NAME.fullmatch(folder.name) or folder.name in taken:
        problem = (
            f"{folder}: the folder's name is the dataset's name; it takes lower-case letters, digits and _, "
            f"beginning with a letter, and not {', '.join(sorted(taken))}"
        )
    name = folder.name if problem is None else free_name(folder.name, taken)
    try:
        said = read_dataset_toml(folder / "dataset.toml")
    except OwnDataError as error:
        return DatasetSpec(name, folder.name, "", "own", (TIES,), folder, problem or str(error))
    return DatasetSpec(name, said.title, said.description, "own", said.relations, folder, problem)


def free_name(wanted: str, taken: set[str]) -> str:
    """A valid name near `wanted` that is not in `taken`."""
    base = "own_" + re.sub(r"[^a-z0-9_]", "_", wanted.lower())[:50]
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def build_own(spec: DatasetSpec) -> EventTable:
    """The event table of a dataset of one's own; its problem, if it has one, is the error.

    The TOML is read again, so a correction made after the registry was loaded counts.
    """
    if spec.folder is None:
        raise ValueError(f"dataset {spec.name!r} comes from {spec.source}, not from a folder of one's own")
    if spec.name != spec.folder.name:
        raise OwnDataError(spec.problem)
    return own_table(spec.name, spec.folder)
