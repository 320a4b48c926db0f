"""The units of sharing: a day of the archive, its raw hours, an event table, a model, the results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipeline.event_table import METADATA
from pipeline.lake import WAITS_FACTS
from pipeline.results.trained import CHECKPOINT, FACTS


@dataclass(frozen=True)
class Thing:
    """A set of files of a home that is uploaded and downloaded as one unit.

    `parts` are folders below the home, each with a glob pattern of its files.
    """

    name: str  # also determines the key of its seal
    parts: tuple[tuple[str, str], ...]
    last: str = ""  # uploaded last; without this file the thing counts as absent
    keeps: bool = False  # files deleted from the home stay in the storage
    remade: bool = True  # rebuilt within minutes, so the storage's version wins on download
    made_with: str = ""  # the thing whose lock its writers hold; its own if empty

    @property
    def lock(self) -> tuple[str, ...]:
        """The names of the lock that writers of this thing hold, for `Lake.lock`."""
        return tuple((self.made_with or self.name).split("/"))

    def files(self, home: Path) -> Iterator[str]:
        """Yield the paths of its finished files, relative to the home."""
        for folder, names in self.parts:
            for path in (home / folder).glob(names):
                below = path.relative_to(home)
                if path.is_file() and not is_unfinished(below):
                    yield below.as_posix()

    def may_have(self, path: str, home: Path) -> bool:
        """Check that a path from a seal or a home matches `parts` and stays inside their folders.

        The folders may be symbolic links; links inside them must not lead out of them.
        """
        for folder, pattern in self.parts:
            if is_plain(path) and Path(path).is_relative_to(folder):
                below = Path(path).relative_to(folder)
                if below.match(pattern) and len(below.parts) == len(Path(pattern).parts):
                    return (home / path).resolve().is_relative_to((home / folder).resolve())
        return False

    def is_here(self, home: Path) -> bool:
        """Return True if the home has its last file, or any file if it has no `last`."""
        return (home / self.last).is_file() if self.last else next(self.files(home), None) is not None


def is_unfinished(path: Path) -> bool:
    """Return True for a temporary file or the checkpoint of an unfinished training."""
    return path.name == CHECKPOINT or any(part.startswith(".") for part in path.parts)


def is_plain(path: str) -> bool:
    """Check that a path is relative and has neither hidden nor empty parts, nor `..`."""
    return all(part and not part.startswith(".") for part in path.split("/"))


def archive_day(of: date) -> Thing:
    """Return the thing of an archive day: notes and readings of its hours, events, quarantine and account."""
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
    """Return the archive day of a `days/…` thing."""
    return date.fromisoformat(thing.name.removeprefix("days/"))


def raw_hours(of: date) -> Thing:
    """Return the thing of a day's raw hour files, which stay in the storage when a home deletes them."""
    return Thing(
        f"hours/{of}",
        ((f"raw/gharchive/{of:%Y/%m/%d}", "*.json.gz"),),
        last=archive_day(of).last,  # hours that were not read yet are work in progress
        keeps=True,
        remade=False,
        made_with=f"days/{of}",
    )


def subnetwork() -> Thing:
    """Return the thing of the dense subnetwork's accounts."""
    folder = "subnetwork/github"
    return Thing(
        "subnetwork", ((folder, "*"),), last=f"{folder}/subnetwork.json", made_with="datasets/github"
    )


def event_table(dataset: str) -> Thing:
    """Return the thing of a dataset's event table and its baselines."""
    return Thing(
        f"datasets/{dataset}", ((f"datasets/{dataset}", "*"),), last=f"datasets/{dataset}/{METADATA}"
    )


def trained_model(dataset: str, variant: str) -> Thing:
    """Return the thing of a finished training."""
    folder = f"models/{dataset}/{variant}"
    return Thing(folder, ((folder, "*"),), last=f"{folder}/{FACTS}", remade=False)


def learned_waiting_times(dataset: str) -> Thing:
    """Return the thing of a dataset's waiting-time models."""
    folder = f"waiting_times/{dataset}"
    return Thing(
        folder,
        ((folder, "*"),),
        last=f"{folder}/{WAITS_FACTS}",
        made_with=f"models/{dataset}/waiting_times",
    )


def results() -> Thing:
    """Return the thing of result tables, figures, the warehouse and the report."""
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
    """Return the thing of a name such as `days/2013-02-15`; raise ValueError for other names."""
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
    """Yield everything in a home that can be shared, inputs before what is built from them."""
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
