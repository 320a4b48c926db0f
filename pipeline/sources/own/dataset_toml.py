"""The `dataset.toml` of a user's own events, decoded into tables of keys and checked."""

import re
import tomllib
from collections import Counter
from datetime import date, datetime, time
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from pipeline.event_table import Split, is_time_zone
from pipeline.names import KINDS
from pipeline.schemas import EDGES, EVENTS, NODES
from pipeline.sources.own.times import EARLIEST, LATEST, YEARS
from pipeline.text import shortened
from pipeline.variants import models_for

FORMATS = (".csv", ".csv.gz", ".parquet")
# The relation of a dataset whose ties are given as graphs only, or not at all.
TIES = "Association"
LARGEST = 32 * 1024  # bytes; parsing a TOML can take quadratic time
# Names of columns on the way into an event table, and in its exports.
RESERVED = {"time", "relation", *EVENTS.names, *NODES.names, *EDGES.names}


class OwnDataError(ValueError):
    """The user's dataset cannot be built; the message names the file, the key and what is allowed."""


Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the TOML. Errors of its checks are reported with the table's place."""


class Pairs(Table, frozen=True):
    """A file of pairs and its columns; without `relation` all are of the dataset's first relation."""

    file: Path
    source: Text = "source"
    target: Text = "target"
    relation: Text | None = None


class Events(Table, frozen=True):
    """The file of events, its columns, and how its times are written."""

    file: Path
    source: Text = "source"
    target: Text = "target"
    time: Text = "time"
    type: Text | None = None
    time_format: Text | None = None
    time_zone: Text = "UTC"
    columns: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        require_zone(self.time_zone)
        require_own_columns(self.columns)


class Kinds(Table, frozen=True):
    """The event types that form ties; without `communication` all other types are communications."""

    association: tuple[Text, ...] = ()
    communication: tuple[Text, ...] | None = None

    def __post_init__(self) -> None:
        if both := set(self.association) & set(self.communication or ()):
            raise ValueError(f"communication repeats {sorted(both)} of association; a type is one kind")
        keys = Counter(variant.key for variant in models_for(self.relations))
        if repeated := [key for key, times in keys.items() if times > 1]:
            raise ValueError(
                f"association gives more than one model the name {shortened(repeated[0])}; "
                "it takes types that differ in their Latin letters and digits, and none called random or wide"
            )

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations formed by the association events, `Follow` for a `FollowEvent`."""
        return tuple(dict.fromkeys(kind.removesuffix("Event") for kind in self.association)) or (TIES,)


class TestPeriod(Table, frozen=True):
    """The start of testing: a day or a moment in TOML's own notation, without offset."""

    test_start: Any
    time_zone: Text = "UTC"

    def __post_init__(self) -> None:
        require_zone(self.time_zone)
        if not isinstance(self.test_start, date) or getattr(self.test_start, "tzinfo", None) is not None:
            raise ValueError(f"test_start is {shortened(self.test_start)}; it takes {TAKES['test_start']}")
        if not EARLIEST <= self.moment < LATEST:
            raise ValueError(f"test_start is {self.test_start}; it takes a time in {YEARS}")

    @property
    def moment(self) -> datetime:
        """The first moment of the test period; a day begins at midnight."""
        if isinstance(self.test_start, datetime):
            return self.test_start
        return datetime.combine(self.test_start, time())


class Nodes(Table, frozen=True):
    """The file that lists all nodes in the order of their ids, and their own columns."""

    file: Path
    name: Text = "name"
    columns: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        require_own_columns(self.columns)


class Associations(Table, frozen=True):
    """The graphs before the first event and at the end."""

    initial: Pairs | None = None
    final: Pairs | Literal["training", "events"] = "training"
    entries_per_association: Literal[1, 2] = 1


class DatasetToml(Table, frozen=True, kw_only=True):
    """A whole `dataset.toml`; its files existed when it was read."""

    title: Text | None = None
    description: Text = ""
    events: Events
    kinds: Kinds = Kinds()
    split: TestPeriod
    nodes: Nodes | None = None
    associations: Associations = Associations()

    def __post_init__(self) -> None:
        if (self.kinds.association or self.kinds.communication is not None) and self.events.type is None:
            raise ValueError("[events] type is missing; [kinds] needs the name of the column of types")

    @property
    def test_period(self) -> Split:
        """The test period, as an event table is split."""
        return Split(self.split.moment, self.split.time_zone)


# msgspec prepares a type at its first use, which is not thread-safe: do it at import.
msgspec.json.Decoder(DatasetToml)

# Allowed values of keys that do not take a text.
TAKES = {
    **dict.fromkeys(("events", "kinds", "split", "nodes", "associations", "initial"), "a table"),
    **dict.fromkeys(KINDS, 'a list of texts such as ["Follow"]'),
    "test_start": "a day or a time without quotes and offset, 2013-09-01 or 2013-09-01T12:00:00",
    "final": '"training" (the initial graph and the training period\'s association events), "events" (all '
    "association events) or a table with a file",
    "entries_per_association": "1 or 2",
    "columns": 'a list of names of numeric columns such as ["amount"]',
}


def read_dataset_toml(toml: Path) -> DatasetToml:
    """Read and check a `dataset.toml`; its files must exist but are not opened."""
    values = parsed(toml)
    try:
        return msgspec.convert(
            values,
            DatasetToml,
            builtin_types=(date, datetime, time),
            dec_hook=lambda _, value: present_file(toml.parent, value),
        )
    except msgspec.ValidationError as error:
        raise OwnDataError(f"{toml}: {toml_fault_in_words(str(error), values)}") from None


def parsed(toml: Path) -> dict[str, Any]:
    """Parse a TOML file of at most `LARGEST` bytes; raise `OwnDataError` if that fails."""
    try:
        if not toml.is_file():
            raise OwnDataError(f"{toml} cannot be read: it is not a file")
        if (size := toml.stat().st_size) > LARGEST:
            raise OwnDataError(f"{toml} has {size:,} bytes; it takes {LARGEST:,} at most, events go to files")
        content = toml.read_bytes()
    except OSError as error:
        raise OwnDataError(f"{toml} cannot be read: {error}") from error
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise OwnDataError(f"{toml} is nested too deeply; it takes tables within tables at most") from None
    except ValueError as error:
        raise OwnDataError(f"{toml} is not TOML: {error}") from None


def present_file(folder: Path, value: object) -> Path:
    """Return the existing file of a known format that `value` names, relative to `folder`."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"is {shortened(value)}; it takes a text")
    if not value.lower().endswith(FORMATS):
        raise ValueError(f"is {shortened(value)}; it takes a file ending in {', '.join(FORMATS)}")
    path = folder / value
    try:
        if path.is_file():
            return path
    except OSError as error:  # a name longer than a file system takes
        raise ValueError(f"is {shortened(value)}, which cannot be a file: {error.strerror}") from None
    raise ValueError(f"is {shortened(value)}, but there is no file {path}")


def require_zone(name: str) -> None:
    """Raise unless `name` is a time zone."""
    if not is_time_zone(name):
        raise ValueError(
            f"time_zone is {shortened(name)}; it takes a zone's name such as America/Toronto or UTC"
        )


def require_own_columns(names: tuple[str, ...]) -> None:
    """Raise for repeated names and for those that an event table has already."""
    for name, times in Counter(names).items():
        if name in RESERVED:
            raise ValueError(f"columns names {name!r}, which an event table has already: rename the column")
        if times > 1:
            raise ValueError(f"columns names {shortened(name)} twice; it takes each column once")


def toml_fault_in_words(error: str, values: dict[str, Any]) -> str:
    """Return msgspec's error in words, with the place as the TOML writes it and what is allowed there."""
    problem, _, path = error.rpartition(" - at `$") if " - at `$" in error else (error, "", "")
    keys = re.findall(r"\w+", re.sub(r"\[.*?\]", "", path))
    if named := re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", problem, re.DOTALL):
        what, key = named.groups()
        if what == "missing required":
            return f"{place(*keys, key)} is missing; it takes {TAKES.get(key, 'a text')}"
        return f"{place(*keys, shortened(key)[1:-1])} is not known; allowed here: {', '.join(allowed(keys))}"
    if problem.startswith(("Expected ", "Invalid ")):
        value = reduce(lambda table, key: table[key], keys, values)
        return f"{place(*keys)} is {shortened(value)}; it takes {TAKES.get(keys[-1], 'a text')}"
    # Our own check: of one value ("is …"), or of a table, and then the message names the key.
    return f"{place(*keys)} {problem}" if problem.startswith("is ") else place(*keys, problem)


def place(*keys: str) -> str:
    """Return a key as messages write it."""
    *tables, key = keys
    return f"[{'.'.join(tables)}] {key}" if tables else key


def allowed(keys: list[str]) -> list[str]:
    """Return the keys allowed in the table at this place."""
    table: type[Table] = DatasetToml
    for key in keys:
        hint = get_type_hints(table)[key]
        (table,) = [
            kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and issubclass(kind, Table)
        ]
    return [field.name for field in msgspec.structs.fields(table)]
