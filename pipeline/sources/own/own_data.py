"""One's own events: a folder with a `dataset.toml` and CSV or Parquet files becomes an event table."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pipeline.event_table import EventTable, Split, build_event_table, is_time_zone

FORMATS = (".csv", ".csv.gz", ".parquet")
UNIX_UNITS: dict[str, int] = {"unix_s": 1_000_000, "unix_ms": 1_000, "unix_us": 1}
# The relation of a dataset whose ties are given as graphs only, or not at all.
TIES = "Association"


class OwnDataError(ValueError):
    """One's own dataset cannot be built; the message names the file, the key and what is allowed."""


@dataclass(frozen=True)
class Pairs:
    """A file of pairs and its columns; without `relation` all are of the dataset's first relation."""

    file: Path
    source: str
    target: str
    relation: str | None = None


@dataclass(frozen=True)
class OwnData:
    """What a `dataset.toml` says, checked as far as the TOML itself goes."""

    toml: Path
    title: str
    description: str
    events: Pairs
    time: str
    time_format: str | None
    time_zone: str
    type: str | None
    association: tuple[str, ...]
    communication: tuple[str, ...] | None
    split: Split
    nodes: tuple[Path, str] | None
    initial: Pairs | None
    final: Pairs | Literal["training", "events"]
    entries_per_association: int

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations formed by the association events, `Follow` for a `FollowEvent`."""
        return tuple(dict.fromkeys(kind.removesuffix("Event") for kind in self.association)) or (TIES,)


@dataclass(frozen=True)
class Section:
    """A table of the TOML; every question to it that has no good answer is an error that names its place."""

    toml: Path
    name: str
    values: dict[str, Any]

    def place(self, key: str) -> str:
        """How messages call a key."""
        return f"{self.toml}: {f'[{self.name}] ' if self.name else ''}{key}"

    def only(self, *keys: str) -> None:
        """Refuse keys other than these: most are misspelled."""
        for key in self.values:
            if key not in keys:
                raise OwnDataError(f"{self.place(key)} is not known; allowed here: {', '.join(keys)}")

    def section(self, key: str) -> "Section":
        """The table under `key`, empty if it is not there."""
        values = self.values.get(key, {})
        if not isinstance(values, dict):
            raise OwnDataError(f"{self.place(key)} is {values!r}; it takes a table")
        return Section(self.toml, f"{self.name}.{key}" if self.name else key, values)

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty; needed if there is no default."""
        value = self.values.get(key, default)
        if value is None:
            raise OwnDataError(f"{self.place(key)} is missing; it takes a text")
        if not isinstance(value, str) or not value.strip():
            raise OwnDataError(f"{self.place(key)} is {value!r}; it takes a text")
        return value

    def optional(self, key: str) -> str | None:
        """A text, or nothing."""
        return self.text(key) if key in self.values else None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise OwnDataError(f'{self.place(key)} is {value!r}; it takes a list of texts such as ["Follow"]')
        return tuple(value)

    def zone(self, key: str, default: str) -> str:
        """A time zone's name."""
        value = self.text(key, default)
        if not is_time_zone(value):
            raise OwnDataError(
                f"{self.place(key)} is {value!r}; it takes a zone's name such as America/Toronto"
            )
        return value

    def moment(self, key: str) -> datetime:
        """A day or a moment, in TOML's own notation and without offset."""
        value = self.values.get(key)
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime.combine(value, time())
        if isinstance(value, datetime) and value.tzinfo is None:
            return value
        said = "is missing" if value is None else f"is {value!r}"
        raise OwnDataError(
            f"{self.place(key)} {said}; it takes a day or a time without quotes and offset, "
            "2013-09-01 or 2013-09-01T12:00:00"
        )

    def file(self, key: str) -> Path:
        """A file of a known format that exists, relative to the TOML's folder."""
        value = self.text(key)
        path = self.toml.parent / value
        if not value.lower().endswith(FORMATS):
            raise OwnDataError(
                f"{self.place(key)} is {value!r}; it takes a file ending in {', '.join(FORMATS)}"
            )
        if not path.is_file():
            raise OwnDataError(f"{self.place(key)} is {value!r}, but there is no file {path}")
        return path

    def pairs(self) -> Pairs:
        """A file of pairs of an association graph."""
        self.only("file", "source", "target", "relation")
        return Pairs(
            self.file("file"),
            self.text("source", "source"),
            self.text("target", "target"),
            self.optional("relation"),
        )


def read_dataset_toml(toml: Path) -> OwnData:
    """Read and check a `dataset.toml`; files are looked for but not opened."""
    try:
        top = Section(toml, "", tomllib.loads(toml.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OwnDataError(f"{toml} is not TOML: {error}") from None
    except OSError as error:
        raise OwnDataError(f"{toml} cannot be read: {error}") from error
    top.only("title", "description", "events", "kinds", "split", "nodes", "associations")
    events, kinds, split = top.section("events"), top.section("kinds"), top.section("split")
    nodes, graphs = top.section("nodes"), top.section("associations")
    events.only("file", "source", "target", "time", "type", "time_format", "time_zone")
    kinds.only("association", "communication")
    split.only("test_start", "time_zone")
    nodes.only("file", "name")
    graphs.only("initial", "final", "entries_per_association")
    if kinds.values and "type" not in events.values:
        raise OwnDataError(
            f"{events.place('type')} is missing; [kinds] needs the name of the column of types"
        )
    both = set(kinds.texts("association")) & set(kinds.texts("communication"))
    if both:
        raise OwnDataError(
            f"{kinds.place('communication')} repeats {sorted(both)} of association; a type is one kind"
        )
    final = graphs.values.get("final", "training")
    if not isinstance(final, dict) and final not in ("training", "events"):
        raise OwnDataError(
            f'{graphs.place("final")} is {final!r}; it takes "training" (the initial graph and the training '
            'period\'s association events), "events" (all association events) or a table with a file'
        )
    per_association = graphs.values.get("entries_per_association", 1)
    if type(per_association) is not int or per_association not in (1, 2):
        raise OwnDataError(
            f"{graphs.place('entries_per_association')} is {per_association!r}; it takes 1 or 2"
        )
    return OwnData(
        toml=toml,
        title=top.text("title", toml.parent.name),
        description=top.optional("description") or "",
        events=Pairs(events.file("file"), events.text("source", "source"), events.text("target", "target")),
        time=events.text("time", "time"),
        time_format=events.optional("time_format"),
        time_zone=events.zone("time_zone", "UTC"),
        type=events.optional("type"),
        association=kinds.texts("association"),
        communication=kinds.texts("communication") if "communication" in kinds.values else None,
        split=Split(split.moment("test_start"), split.zone("time_zone", "UTC")),
        nodes=(nodes.file("file"), nodes.text("name", "name")) if nodes.values else None,
        initial=graphs.section("initial").pairs() if "initial" in graphs.values else None,
        final=graphs.section("final").pairs() if isinstance(final, dict) else final,
        entries_per_association=per_association,
    )


def own_table(name: str, folder: Path) -> EventTable:
    """The event table of the dataset in `folder`.

    Rows without a source or target, self-loops and rows that name someone outside the node list (if there is
    one) are left out and counted; repeated events are kept. Without a node list the nodes are all names that
    occur, sorted.
    """
    said = read_dataset_toml(folder / "dataset.toml")
    events = read_columns(
        said,
        said.events.file,
        "events",
        {"source": said.events.source, "target": said.events.target, "time": said.time}
        | ({"type": said.type} if said.type else {}),
    )
    rows = events.with_columns(created_at=moments(events, said)).with_columns(kind=kinds(events, said))
    if said.type is None:
        rows = rows.with_columns(type=pl.lit("Communication"))
    graphs = {
        snapshot: read_pairs(said, pairs, f"associations.{snapshot}")
        for snapshot, pairs in (("initial", said.initial), ("final", said.final))
        if isinstance(pairs, Pairs)
    }
    if said.nodes is None:
        frames = [rows, *graphs.values()]
        every = pl.concat([frame[column] for frame in frames for column in ("source", "target")])
        names = every.drop_nulls().unique().sort().to_list()
    else:
        file, column = said.nodes
        names = read_columns(said, file, "nodes", {"name": column})["name"].drop_nulls().to_list()
    rows, dropped = among(rows, names, "events")
    for snapshot, frame in graphs.items():
        graphs[snapshot], left_out = among(frame, names, f"{snapshot} associations", loops=True)
        dropped |= left_out
    ties = rows.filter(pl.col("kind") == "association").with_columns(
        relation=pl.col("type").str.strip_suffix("Event")
    )
    if said.final == "training":
        known = ties.filter(pl.col("created_at") < said.split.boundary).select("relation", "source", "target")
        graphs["final"] = pl.concat([graphs.get("initial", known.head(0)), known])
    elif said.final == "events":
        graphs["final"] = ties.select("relation", "source", "target")
    columns = ("relation", "snapshot", "source", "target")
    try:
        return build_event_table(
            name=name,
            title=said.title,
            description=said.description,
            rows=rows,
            node_names=names,
            split=said.split,
            own_relations=said.relations,
            associations=pl.concat(
                frame.with_columns(snapshot=pl.lit(snapshot)).select(columns)
                for snapshot, frame in graphs.items()
            ),
            association_events=ties,
            entries_per_association=said.entries_per_association,
            dropped=dropped,
        )
    except ValueError as error:
        raise OwnDataError(f"{said.toml}: {error}") from error


def read_columns(said: OwnData, file: Path, section: str, columns: dict[str, str]) -> pl.DataFrame:
    """The wanted columns of `file` under our names: text, except for a time that Parquet holds as one."""
    try:
        parquet = file.name.lower().endswith(".parquet")
        rows = pl.scan_parquet(file) if parquet else pl.scan_csv(file, infer_schema=False)
        present = rows.collect_schema().names()
        for key, column in columns.items():
            if column not in present:
                raise OwnDataError(
                    f"{said.toml}: [{section}] {key} is {column!r}, a column that {file.name} does not have; "
                    f"it has {', '.join(present)}"
                )
        frame = rows.select(
            pl.col(column).alias(key) if key == "time" else pl.col(column).cast(pl.String).alias(key)
            for key, column in columns.items()
        ).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise OwnDataError(f"{file} cannot be read ([{section}] file in {said.toml}): {reason}") from error
    if frame.is_empty():
        raise OwnDataError(f"{file} has no rows ([{section}] file in {said.toml})")
    return frame


def read_pairs(said: OwnData, pairs: Pairs, section: str) -> pl.DataFrame:
    """The association graph in a file: relation, source, target."""
    columns = {"source": pairs.source, "target": pairs.target}
    if pairs.relation is not None:
        columns["relation"] = pairs.relation
    frame = read_columns(said, pairs.file, section, columns)
    if pairs.relation is None:
        frame = frame.with_columns(relation=pl.lit(said.relations[0]))
    if frame["relation"].null_count():
        raise OwnDataError(f"{pairs.file}: column {pairs.relation!r} ([{section}] relation) has empty values")
    return frame.select("relation", "source", "target")


def kinds(events: pl.DataFrame, said: OwnData) -> pl.Expr:
    """Which kind each event is; a type that is of neither kind is an error."""
    if said.type is None:
        return pl.lit("communication")
    types = events["type"].unique().sort()
    if types.null_count():
        raise OwnDataError(f"{said.events.file}: column {said.type!r} ([events] type) has empty values")
    absent = [kind for kind in (*said.association, *(said.communication or ())) if kind not in set(types)]
    unknown = (
        [] if said.communication is None else sorted(set(types) - {*said.association, *said.communication})
    )
    if absent or unknown:
        wrong = f"names {absent[0]!r}, which no event is" if absent else f"does not name {unknown[0]!r}"
        raise OwnDataError(
            f"{said.toml}: [kinds] {wrong}; the types in {said.events.file.name}: {', '.join(types)}"
        )
    return (
        pl.when(pl.col("type").is_in(said.association))
        .then(pl.lit("association"))
        .otherwise(pl.lit("communication"))
    )


def moments(events: pl.DataFrame, said: OwnData) -> pl.Series:
    """The events' times as naive UTC; times without an offset are wall-clock times of `time_zone`."""
    raw = events["time"]
    parsed = events.select(created_at=moment(raw.dtype, said))["created_at"]
    if parsed.null_count():
        row = int(parsed.is_null().arg_max() or 0)
        fits = (
            f"the time_format {said.time_format!r}" if said.time_format else "ISO 8601 (2013-09-01 12:00:00)"
        )
        raise OwnDataError(
            f"{said.events.file} row {row + 1}: {said.time} is {raw[row]!r}, not a time in {fits} "
            f"in zone {said.time_zone}; see [events] time, time_format and time_zone in {said.toml}"
        )
    return parsed


def moment(dtype: pl.DataType, said: OwnData) -> pl.Expr:
    """How to read a column of times of this type."""
    column = pl.col("time")
    if said.time_format in UNIX_UNITS:
        microseconds = column.cast(pl.Float64 if dtype.is_float() else pl.Int64, strict=False)
        return (microseconds * UNIX_UNITS[said.time_format]).cast(pl.Int64).cast(pl.Datetime("us"))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return as_utc(column)
    if dtype.is_temporal():
        return localized(column.cast(pl.Datetime("us")), said.time_zone)
    if dtype != pl.String:
        raise OwnDataError(
            f"{said.toml}: [events] time is a column of {dtype}; for numbers time_format takes "
            f"{', '.join(UNIX_UNITS)}"
        )
    text = column.str.strip_chars()
    if said.time_format is not None:
        if "%z" in said.time_format:
            return as_utc(
                text.str.to_datetime(said.time_format, strict=False, time_unit="us", time_zone="UTC")
            )
        return localized(text.str.to_datetime(said.time_format, strict=False, time_unit="us"), said.time_zone)
    iso = text.str.replace("T", " ", literal=True).str.replace(r"[Zz]$", "+00:00")
    with_offset = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_unit="us", time_zone="UTC")
    without = pl.coalesce(
        iso.str.to_datetime(form, strict=False, time_unit="us", exact=True)
        for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
    )
    day = iso.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    return pl.coalesce(as_utc(with_offset), localized(pl.coalesce(without, day), said.time_zone))


def as_utc(times: pl.Expr) -> pl.Expr:
    """Times with a zone as naive UTC."""
    return times.dt.convert_time_zone("UTC").dt.replace_time_zone(None).cast(pl.Datetime("us"))


def localized(times: pl.Expr, zone: str) -> pl.Expr:
    """Wall-clock times of `zone` as naive UTC; of an hour that comes twice the first is meant."""
    return as_utc(times.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null"))


def among(
    rows: pl.DataFrame, names: Collection[str], what: str, loops: bool = False
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows between two of `names`, and how many were left out for which reason."""
    source, target, known = (
        pl.col("source"),
        pl.col("target"),
        pl.lit(pl.Series(list(names), dtype=pl.String)),
    )
    reason = pl.when(source.is_null() | target.is_null()).then(pl.lit("a name is missing"))
    reason = reason.when(~source.is_in(known.implode()) | ~target.is_in(known.implode())).then(
        pl.lit("someone outside the node list")
    )
    if not loops:
        reason = reason.when(source == target).then(pl.lit("self-loop"))
    judged = rows.with_columns(reason=reason)
    left_out = judged.drop_nulls("reason").group_by("reason").len().sort("reason")
    return judged.filter(pl.col("reason").is_null()).drop("reason"), {
        f"{what}: {why}": count for why, count in left_out.iter_rows()
    }
