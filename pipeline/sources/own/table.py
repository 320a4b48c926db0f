"""The event table of a user's own events: rows read from CSV or Parquet, filtered and counted."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl

from pipeline.event_table import EventTable, build_event_table
from pipeline.lake import scan_parquet
from pipeline.names import ASSOCIATION_KIND, COMMUNICATION_KIND, FINAL, INITIAL
from pipeline.sources.own.dataset_toml import (
    RESERVED,
    DatasetToml,
    OwnDataError,
    Pairs,
    read_dataset_toml,
)
from pipeline.sources.own.times import TimesError, moments
from pipeline.text import printable, shortened


def own_table(name: str, folder: Path) -> EventTable:
    """Build the event table of the dataset in `folder`.

    Rows without a source or target, self-loops and rows that name someone outside the node list (if there is
    one) are left out and counted; repeated events are kept. Without a node list, the nodes are all the names
    that occur, sorted.
    """
    toml = folder / "dataset.toml"
    keys = read_dataset_toml(toml)
    rows = read_own_events(toml, keys)
    relations, final = keys.kinds.relations, keys.associations.final
    graphs = {
        snapshot: read_pairs(toml, pairs, f"associations.{snapshot}", relations[0])
        for snapshot, pairs in ((INITIAL, keys.associations.initial), (FINAL, final))
        if isinstance(pairs, Pairs)
    }
    node_values, own_columns = None, {"events": keys.events.columns}
    if keys.nodes is None:
        frames = [rows, *graphs.values()]
        every = pl.concat([frame[column] for frame in frames for column in ("source", "target")])
        names = every.drop_nulls().unique().sort().to_list()
    else:
        wanted = {"name": keys.nodes.name} | {column: column for column in keys.nodes.columns}
        listed = read_columns(toml, keys.nodes.file, "nodes", wanted).drop_nulls("name")
        names = listed["name"].to_list()
        own_columns["nodes"] = keys.nodes.columns
        node_values = as_numbers(listed, keys.nodes.columns, keys.nodes.file, "nodes", toml)
    try:
        return assemble_table(
            name, keys, keys.title or folder.name, rows, graphs, names, own_columns, node_values
        )
    except ValueError as error:
        raise OwnDataError(f"{toml}: {error}") from error


def assemble_table(
    name: str,
    keys: DatasetToml,
    title: str,
    rows: pl.DataFrame,
    graphs: dict[str, pl.DataFrame],
    names: Collection[str],
    own_columns: Mapping[str, Sequence[str]] | None = None,
    node_values: pl.DataFrame | None = None,
) -> EventTable:
    """Build the event table of the rows and graphs between `names`, with the final graph that `keys` ask for.

    `rows` has source, target, type, kind, created_at and own columns; each of `graphs`, by snapshot, has
    relation, source, target.
    """
    relations, final = keys.kinds.relations, keys.associations.final
    rows, dropped = among(rows, names, "events")
    for snapshot, frame in graphs.items():
        graphs[snapshot], left_out = among(frame, names, f"{snapshot} associations", loops=True)
        dropped |= left_out
    ties = rows.filter(pl.col("kind") == ASSOCIATION_KIND).with_columns(
        relation=pl.col("type").str.strip_suffix("Event")
    )
    split = keys.test_period
    if final == "training":
        formed = ties.filter(pl.col("created_at") < split.boundary).select("relation", "source", "target")
        graphs[FINAL] = pl.concat([graphs.get(INITIAL, formed.head(0)), formed])
    elif final == "events":
        graphs[FINAL] = ties.select("relation", "source", "target")
    columns = ("relation", "snapshot", "source", "target")
    return build_event_table(
        name=name,
        title=title,
        description=keys.description,
        rows=rows,
        node_names=list(names),
        split=split,
        own_relations=relations,
        associations=pl.concat(
            frame.with_columns(snapshot=pl.lit(snapshot)).select(columns)
            for snapshot, frame in graphs.items()
        ),
        association_events=ties,
        entries_per_association=keys.associations.entries_per_association,
        dropped=dropped,
        own_columns=own_columns,
        node_values=node_values,
    )


def read_own_events(toml: Path, keys: DatasetToml) -> pl.DataFrame:
    """Read the events: source, target, type, kind, created_at, and own columns."""
    events = keys.events
    columns = {"source": events.source, "target": events.target, "time": events.time}
    if events.type is not None:
        columns["type"] = events.type
    rows = read_columns(toml, events.file, "events", columns | {column: column for column in events.columns})
    try:
        created_at = moments(rows["time"], events.time_format, events.time_zone)
    except TimesError as error:
        row = "" if error.row is None else f" row {error.row + 1}"
        raise OwnDataError(
            f"{events.file}{row}: {events.time} {error}; "
            f"see [events] time, time_format and time_zone in {toml}"
        ) from None
    types = pl.lit("Communication") if events.type is None else pl.col("type")
    own = as_numbers(rows, events.columns, events.file, "events", toml)
    tidy = rows.select("source", "target", type=types, kind=kinds(toml, keys, rows), created_at=created_at)
    return pl.concat([tidy, own], how="horizontal")


def read_pairs(toml: Path, pairs: Pairs, section: str, first_relation: str) -> pl.DataFrame:
    """Read the association graph in a file: relation, source, target."""
    columns = {"source": pairs.source, "target": pairs.target}
    if pairs.relation is not None:
        columns["relation"] = pairs.relation
    frame = read_columns(toml, pairs.file, section, columns)
    if pairs.relation is None:
        frame = frame.with_columns(relation=pl.lit(first_relation))
    if frame["relation"].null_count():
        raise OwnDataError(f"{pairs.file}: column {pairs.relation!r} ([{section}] relation) has empty values")
    return frame.select("relation", "source", "target")


def read_columns(toml: Path, file: Path, section: str, columns: dict[str, str]) -> pl.DataFrame:
    """Read the wanted columns of `file` under our names, as text except for a Parquet column of times."""
    try:
        parquet = file.name.lower().endswith(".parquet")
        rows = scan_parquet(file) if parquet else pl.scan_csv(file, glob=False, infer_schema=False)
        present = rows.collect_schema().names()
        for key, column in columns.items():
            if column not in present:
                place = f"{key} is" if key in RESERVED else "columns names"
                raise OwnDataError(
                    f"{toml}: [{section}] {place} {column!r}, a column that {file.name} does not have; "
                    f"it has {printable(', '.join(present))}"
                )
        frame = rows.select(
            pl.col(column).alias(key) if key == "time" else pl.col(column).cast(pl.String).alias(key)
            for key, column in columns.items()
        ).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise OwnDataError(f"{file} cannot be read ([{section}] file in {toml}): {reason}") from error
    if frame.is_empty():
        raise OwnDataError(f"{file} has no rows ([{section}] file in {toml})")
    return frame


def as_numbers(
    rows: pl.DataFrame, columns: tuple[str, ...], file: Path, section: str, toml: Path
) -> pl.DataFrame:
    """Parse own columns as numbers; an empty cell becomes null, any other non-number raises."""
    texts = rows.select(pl.col(columns).str.strip_chars().replace("", None))
    numbers = texts.select(pl.col(columns).cast(pl.Float64, strict=False))
    for column in columns:
        is_wrong = texts[column].is_not_null() & ~numbers[column].is_finite().fill_null(value=False)
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            raise OwnDataError(
                f"{file} row {row + 1}: {column} is {shortened(texts[column][row])}, which is no number; "
                f"see [{section}] columns in {toml}"
            )
    return numbers


def kinds(toml: Path, keys: DatasetToml, events: pl.DataFrame) -> pl.Expr:
    """Return an expression for each event's kind; raise if `[kinds]` and the types of events disagree."""
    association, communication = keys.kinds.association, keys.kinds.communication
    if keys.events.type is None:
        return pl.lit(COMMUNICATION_KIND)
    types = events["type"].unique().sort()
    if types.null_count():
        raise OwnDataError(
            f"{keys.events.file}: column {keys.events.type!r} ([events] type) has empty values"
        )
    absent = [kind for kind in (*association, *(communication or ())) if kind not in set(types)]
    unknown = [] if communication is None else sorted(set(types) - {*association, *communication})
    if absent or unknown:
        wrong = f"names {absent[0]!r}, which no event is" if absent else f"does not name {unknown[0]!r}"
        raise OwnDataError(
            f"{toml}: [kinds] {wrong}; the types in {keys.events.file.name}: {printable(', '.join(types))}"
        )
    return (
        pl.when(pl.col("type").is_in(association))
        .then(pl.lit(ASSOCIATION_KIND))
        .otherwise(pl.lit(COMMUNICATION_KIND))
    )


def among(
    rows: pl.DataFrame, names: Collection[str], what: str, loops: bool = False
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the rows between two of `names`, and the number left out by reason."""
    source, target, members = (
        pl.col("source"),
        pl.col("target"),
        pl.lit(pl.Series(list(names), dtype=pl.String)).implode(),
    )
    reason = pl.when(source.is_null() | target.is_null()).then(pl.lit("a name is missing"))
    reason = reason.when(~source.is_in(members) | ~target.is_in(members)).then(
        pl.lit("someone outside the node list")
    )
    if not loops:
        reason = reason.when(source == target).then(pl.lit("self-loop"))
    judged = rows.with_columns(reason=reason)
    left_out = judged.drop_nulls("reason").group_by("reason").len().sort("reason")
    return judged.filter(pl.col("reason").is_null()).drop("reason"), {
        f"{what}: {why}": count for why, count in left_out.iter_rows()
    }
