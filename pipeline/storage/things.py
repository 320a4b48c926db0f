"""What is shared as one: a day of the archive, its raw hours, an event table, a model, the results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipeline.event_table import METADATA
from pipeline.lake import WAITS_FACTS
from pipeline.results.trained import CHECKPOINT, FACTS


@dataclass(frozen=True)
class Thing:
    """Files of a home that are published and brought together.

    `parts` are folders below the home, each with a pattern of the files in it.
    """

    name: str  # also the place of its seal
    parts: tuple[tuple[str, str], ...]
    last: str = ""  # without this file it is not there; of its own files this one is published last
    keeps: bool = False  # files that are gone from the home stay in the storage
    remade: bool = True  # made again within minutes: where two differ, the storage's is taken
    made_with: str = ""  # whose lock its makers hold; its own if empty

    @property
    def lock(self) -> tuple[str, ...]:
        """The names of the lock that its makers hold in their home."""
        return tuple((self.made_with or self.name).split("/"))

    def files(self, home: Path) -> Iterator[str]:
        """Its files in this home, by their paths below it; nothing that is still being written."""
        for folder, names in self.parts:
            for path in (home / folder).glob(names):
                below = path.relative_to(home)
                if path.is_file() and not is_unfinished(below):
                    yield below.as_posix()

    def may_have(self, path: str, home: Path) -> bool:
        """Check that a path from a seal or a home is of the kind that `files` lists, and leads nowhere else.

        The folders of a thing may be links of the home's owner; a link inside them must not lead out of them.
        """
        for folder, pattern in self.parts:
            if is_plain(path) and Path(path).is_relative_to(folder):
                below = Path(path).relative_to(folder)
                if below.match(pattern) and len(below.parts) == len(Path(pattern).parts):
                    return (home / path).resolve().is_relative_to((home / folder).resolve())
        return False

    def is_here(self, home: Path) -> bool:
        """Whether this home has it."""
        return (home / self.last).is_file() if self.last else next(self.files(home), None) is not None


def is_unfinished(path: Path) -> bool:
    """Whether a file is still being written, or is what an unfinished training goes on from."""
    return path.name == CHECKPOINT or any(part.startswith(".") for part in path.parts)


def is_plain(path: str) -> bool:
    """Check that a path is relative and has neither hidden nor empty parts, nor `..`."""
    return all(part and not part.startswith(".") for part in path.split("/"))


def archive_day(of: date) -> Thing:
    """A day of the archive: what is known and was read of its hours, its events, and last its account."""
    raw = f"raw/gharchive/{of:%Y/%m/%d}"
    return Thing(
        f"days/{of}",
        (
            (raw, "*.known.json"),
            (f"{raw}/readings", "*/*"),
            (f"events/github/date={of}", "*.parquet"),
            (f"quarantine/github/date={of}", "*.parquet"),
            ("accounts/github", f"date={of}.parquet"),
        ),
        last=f"accounts/github/date={of}.parquet",
    )


def day_of(thing: Thing) -> date:
    """Which day of the archive a thing is."""
    return date.fromisoformat(thing.name.removeprefix("days/"))


def raw_hours(of: date) -> Thing:
    """The raw hours of a day. One that a home drops after reading stays in the storage."""
    return Thing(
        f"hours/{of}",
        ((f"raw/gharchive/{of:%Y/%m/%d}", "*.json.gz"),),
        last=archive_day(of).last,  # hours that were never read are work in progress
        keeps=True,
        remade=False,
        made_with=f"days/{of}",
    )


def subnetwork() -> Thing:
    """Who forms the dense subnetwork."""
    folder = "subnetwork/github"
    return Thing(
        "subnetwork", ((folder, "*"),), last=f"{folder}/subnetwork.json", made_with="datasets/github"
    )


def event_table(dataset: str) -> Thing:
    """A dataset's event table, and the baselines beside it."""
    return Thing(
        f"datasets/{dataset}", ((f"datasets/{dataset}", "*"),), last=f"datasets/{dataset}/{METADATA}"
    )


def trained_model(dataset: str, variant: str) -> Thing:
    """A finished training."""
    folder = f"models/{dataset}/{variant}"
    return Thing(folder, ((folder, "*"),), last=f"{folder}/{FACTS}", remade=False)


def learned_waiting_times(dataset: str) -> Thing:
    """The thing that holds what was learned of a dataset's waiting times."""
    folder = f"waiting_times/{dataset}"
    return Thing(
        folder,
        ((folder, "*"),),
        last=f"{folder}/{WAITS_FACTS}",
        made_with=f"models/{dataset}/waiting_times",
    )


def results() -> Thing:
    """What is made of everything: result tables, figures, the warehouse and the report."""
    whole = (("figures", "*/*"), ("report", "*"), ("results", "*.parquet"))
    return Thing("results", (*whole, (".", "warehouse.duckdb")))


KINDS = {
    "days": lambda name: archive_day(date.fromisoformat(name)),
    "hours": lambda name: raw_hours(date.fromisoformat(name)),
    "subnetwork": lambda _: subnetwork(),
    "datasets": lambda name: event_table(*name.split("/")),
    "models": lambda name: trained_model(*name.split("/")),
    "waiting_times": lambda name: learned_waiting_times(*name.split("/")),
    "results": lambda _: results(),
}


def thing_named(name: str) -> Thing:
    """The thing of a name such as `days/2013-02-15`."""
    kind, _, rest = name.partition("/")
    try:
        thing = KINDS[kind](rest)
    except (KeyError, ValueError, TypeError):
        thing = None
    if thing is None or thing.name != name or not is_plain(name):
        raise ValueError(
            f"{name!r} is nothing that is shared; there are days/2013-02-15, hours/2013-02-15, subnetwork, "
            "datasets/<dataset>, models/<dataset>/<variant>, waiting_times/<dataset> and results"
        )
    return thing


def things_here(home: Path) -> Iterator[Thing]:
    """Everything in a home that can be shared, what others are made from first."""
    for account in sorted((home / "accounts" / "github").glob("date=*.parquet")):
        of = date.fromisoformat(account.stem.removeprefix("date="))
        yield from (raw_hours(of), archive_day(of))
    yield subnetwork()
    for table in sorted((home / "datasets").glob(f"*/{METADATA}")):
        yield event_table(table.parent.name)
    for trained in sorted((home / "models").glob(f"*/*/{FACTS}")):
        yield trained_model(trained.parent.parent.name, trained.parent.name)
    for learned in sorted((home / "waiting_times").glob(f"*/{WAITS_FACTS}")):
        yield learned_waiting_times(learned.parent.name)
    yield results()
