"""The event table of Social Evolution: calls, SMS, proximity and surveys under the paper's rules."""

from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise
from pathlib import Path

import polars as pl

from pipeline.event_table import EventTable, Split, build_event_table
from pipeline.names import ASSOCIATION_KIND, COMMUNICATION_KIND, FINAL, INITIAL
from pipeline.sources.social_evolution.files import SocialEvolutionFiles, column_name
from pipeline.sources.social_evolution.relations import CLOSE_FRIEND, RELATIONS

DATASET, TITLE = "social_evolution", "Social Evolution"
CONTENT = "Calls, SMS, proximity and friendships of an undergraduate dormitory"
# Of each communication file: the event type it holds, and the columns of counterpart and time.
COMMUNICATIONS = {
    "Calls": ("Call", "dest_user_id_if_known", "time_stamp"),
    "SMS": ("SMS", "dest_user_id_if_known", "time"),
    "Proximity": ("Proximity", "remote_user_id_if_known", "time"),
}
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class SocialEvolutionRules:
    """Selection rules for the data; the defaults are the paper's.

    Proximity rows with a probability above, not at, `min_probability` are kept. New ties of `relations` are
    association events. Dates are days of the data's own clock; `end` is exclusive.
    """

    min_probability: float = 0.8
    relations: tuple[str, ...] = (CLOSE_FRIEND,)
    start: date = date(2008, 9, 11)
    test_start: date = date(2009, 5, 1)
    end: date = date(2009, 7, 1)

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability < 1:
            raise ValueError(
                f"min_probability is {self.min_probability}; it takes a number from 0 to below 1"
            )
        unknown = [relation for relation in self.relations if relation not in RELATIONS]
        if unknown or not self.relations or len(set(self.relations)) < len(self.relations):
            raise ValueError(
                f"relations is {self.relations}; it takes one or several of {', '.join(RELATIONS)}"
            )
        if not self.start < self.test_start < self.end:
            raise ValueError(
                f"start {self.start}, test_start {self.test_start} and end {self.end} must follow one another"
            )


def social_evolution_table(files: SocialEvolutionFiles, rules: SocialEvolutionRules) -> EventTable:
    """Build the event table under `rules`, with the association graphs of all five relations."""
    rows, dropped = [], {}
    for name in COMMUNICATIONS:
        communicated, reasons = communication_events(files.path(name), name, rules)
        rows.append(communicated)
        dropped |= {f"{name}: {reason}": count for reason, count in reasons.items()}
    surveys = read_surveys(files.path("RelationshipsFromSurveys"))
    associations, ties = association_graphs(surveys, rules)
    own = ties.filter(pl.col("relation").is_in(rules.relations)).select(
        "source", "target", pl.col("relation").alias("type"), "created_at", kind=pl.lit(ASSOCIATION_KIND)
    )
    names, features = subject_features(files.path("Subjects"))
    columns = ("source", "target", "type", "kind", "created_at")
    return build_event_table(
        name=DATASET,
        title=TITLE,
        description=f"{CONTENT} ({rules.start} to {rules.end}, proximity above {rules.min_probability:g}).",
        rows=pl.concat([own.select(columns), *(frame.select(columns) for frame in rows)]).sort(
            "created_at", "type", pl.col("source").cast(pl.Int64), pl.col("target").cast(pl.Int64)
        ),
        node_names=names,
        features=features,
        split=Split(datetime.combine(rules.test_start, time()), time_zone="America/New_York", clock="local"),
        own_relations=rules.relations,
        associations=associations,
        association_events=ties,
        dropped=dropped,
    )


def scan_rows(path: Path) -> pl.LazyFrame:
    """Scan a file's rows as text, with normalized column names and line numbers; empty fields are null."""
    return pl.scan_csv(
        path,
        glob=False,
        infer_schema=False,
        encoding="utf8-lossy",
        null_values=["", "NA"],
        row_index_name="line",
        row_index_offset=2,
        with_column_names=lambda columns: [column_name(column) for column in columns],
    )


def collected(path: Path, rows: pl.LazyFrame) -> pl.DataFrame:
    """Run a streaming query over the file at `path`; raise ValueError if it is not well-formed CSV."""
    try:
        return rows.collect(engine="streaming")
    except pl.exceptions.ComputeError as error:
        problem = str(error).splitlines()[0]
        raise ValueError(f"{path.name} is not well-formed CSV (a quote left open?): {problem}") from error


def subject_number(column: str) -> pl.Expr:
    """Return an expression that parses an id, written `12` or `12.0`."""
    return pl.col(column).str.strip_chars().str.strip_suffix(".0").cast(pl.Int64, strict=False)


def moment_of_text(column: str) -> pl.Expr:
    """Return an expression that parses a time such as `2008-10-02 22:04:28`."""
    return pl.col(column).str.strip_chars().str.to_datetime(TIME_FORMAT, strict=False, time_unit="us")


@dataclass(frozen=True)
class Field:
    """A column's parsing expression, its meaning (for messages), and whether every row needs it."""

    column: str
    parsed: pl.Expr
    meaning: str
    needed: bool = False

    @property
    def unreadable(self) -> pl.Expr:
        """Expression that is true where the field is present but unreadable, or needed but absent."""
        return (pl.col(self.column).is_not_null() | pl.lit(self.needed)) & self.parsed.is_null()


def refuse_unreadable(path: Path, fields: list[Field], line: int | None = None) -> None:
    """Raise ValueError for the first row with an unreadable field, or for the row at `line` if given."""
    rows = scan_rows(path) if line is None else scan_rows(path).filter(pl.col("line") == line)
    problems = [
        pl.when(field.unreadable).then(
            pl.format(f"{field.column} is {{}}, not {field.meaning}", pl.col(field.column).fill_null("empty"))
        )
        for field in fields
    ]
    unreadable = rows.select("line", problem=pl.coalesce(problems)).filter(pl.col("problem").is_not_null())
    for bad_line, problem in collected(path, unreadable.sort("line").head(1)).iter_rows():
        raise ValueError(f"{path.name} line {bad_line}: {problem}; correct the file and fetch it again")


def communication_events(
    path: Path, name: str, rules: SocialEvolutionRules
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the distinct communication events of one file, and the number of rows left out by reason.

    The file streams through one group-by: kept rows by pair and time, the others by reason.
    """
    kind, counterpart, at = COMMUNICATIONS[name]
    fields = [
        Field("user_id", subject_number("user_id"), "a number"),
        Field(counterpart, subject_number(counterpart), "a number"),
        Field(at, moment_of_text(at), "a time like 2008-10-02 22:04:28", needed=True),
    ]
    near = pl.lit(value=True)
    if name == "Proximity":
        probability = pl.col("prob2").str.strip_chars().cast(pl.Float64, strict=False)
        fields.append(Field("prob2", probability, "a probability"))
        near = (probability > rules.min_probability).fill_null(value=False)
    outside = (pl.col("created_at") < rules.start) | (pl.col("created_at") >= rules.end)
    reason = (
        pl.when("unreadable")
        .then(pl.lit(UNREADABLE))
        .when(pl.col("u").is_null() | pl.col("v").is_null())
        .then(pl.lit("an id is missing"))
        .when(pl.col("u") == pl.col("v"))
        .then(pl.lit("self-loop"))
        .when(outside)
        .then(pl.lit("outside the dates"))
        .when(~pl.col("near"))
        .then(pl.lit("not probable enough"))
    )
    keys = ("u", "v", "created_at")
    groups = collected(
        path,
        scan_rows(path)
        .select(
            "line",
            u=subject_number("user_id"),
            v=subject_number(counterpart),
            created_at=moment_of_text(at),
            near=near,
            unreadable=pl.any_horizontal(field.unreadable for field in fields),
        )
        .with_columns(reason=reason)
        .group_by("reason", *(pl.when(pl.col("reason").is_null()).then(key).alias(key) for key in keys))
        .agg(rows=pl.len(), line=pl.col("line").min()),
    )
    for line in groups.filter(pl.col("reason") == UNREADABLE)["line"]:
        refuse_unreadable(path, fields, line)
    events, left_out = (
        groups.filter(pl.col("reason").is_null()),
        groups.filter(pl.col("reason").is_not_null()),
    )
    rows = events.select(
        source=pl.col("u").cast(pl.String),
        target=pl.col("v").cast(pl.String),
        type=pl.lit(kind),
        kind=pl.lit(COMMUNICATION_KIND),
        created_at="created_at",
    )
    dropped = dict(left_out.select("reason", "rows").iter_rows())
    if duplicates := events["rows"].sum() - events.height:
        dropped["exact duplicate"] = duplicates
    return rows, dict(sorted(dropped.items()))


def read_surveys(path: Path) -> pl.DataFrame:
    """Read the distinct survey answers: a, b, relation, day; directed, as answered."""
    day = pl.col("survey_date").str.strip_chars().str.to_date("%Y-%m-%d", strict=False)
    relation = pl.col("relationship").str.strip_chars()
    valid_relation = pl.when(relation.is_in(RELATIONS)).then(relation)
    refuse_unreadable(
        path,
        [
            Field("id_a", subject_number("id_a"), "a number", needed=True),
            Field("id_b", subject_number("id_b"), "a number", needed=True),
            Field("survey_date", day, "a day like 2008-09-09", needed=True),
            Field("relationship", valid_relation, f"one of {', '.join(RELATIONS)}", needed=True),
        ],
    )
    answers = scan_rows(path).select(
        a=subject_number("id_a"), b=subject_number("id_b"), relation=relation, day=day
    )
    return collected(path, answers.unique())


def association_graphs(
    surveys: pl.DataFrame, rules: SocialEvolutionRules
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return initial and final association graphs, and the association events, of every relation.

    The initial survey is the last one up to the start (the first one, if there is none); the final one is
    the last of the training period. A graph is a survey's answers made symmetric, self-reports its diagonal.
    An association event is an undirected pair present in a survey and absent in the one before.
    """
    days = surveys.filter(pl.col("day") < rules.end)["day"].unique().sort().to_list()
    if not days:
        raise ValueError(
            f"RelationshipsFromSurveys has no survey before {rules.end} (LDG_SOCIAL_EVOLUTION_END), so there "
            "is no association graph"
        )
    initial = max((day for day in days if day <= rules.start), default=days[0])
    final = max((day for day in days if initial <= day < rules.test_start), default=initial)
    symmetric = pl.concat(
        [surveys, surveys.select("relation", "day", a="b", b="a").select(surveys.columns)]
    ).unique()
    graphs = [
        symmetric.filter(pl.col("day") == day).select(
            "relation",
            snapshot=pl.lit(snapshot),
            source=pl.col("a").cast(pl.String),
            target=pl.col("b").cast(pl.String),
        )
        for snapshot, day in ((INITIAL, initial), (FINAL, final))
    ]
    pairs = symmetric.filter(pl.col("a") < pl.col("b"))
    used = [day for day in days if day >= initial]
    ties = [
        pairs.filter(pl.col("day") == now).join(
            pairs.filter(pl.col("day") == before), on=("a", "b", "relation"), how="anti"
        )
        for before, now in pairwise(used)
    ]
    events = pl.concat([pairs.head(0), *ties]).sort("day", "relation", "a", "b")
    return pl.concat(graphs), events.select(
        "relation",
        source=pl.col("a").cast(pl.String),
        target=pl.col("b").cast(pl.String),
        created_at=pl.col("day").cast(pl.Datetime("us")),
    )


def subject_features(path: Path) -> tuple[list[str], list[list[float]]]:
    """Return the subjects' ids in order, and one-hot school year and floor; no answer is a category."""
    refuse_unreadable(path, [Field("user_id", subject_number("user_id"), "a number", needed=True)])
    people = collected(
        path, scan_rows(path).select("year_school", "floor", id=subject_number("user_id")).sort("id")
    )
    hot = [
        (people[column] == category if category is not None else people[column].is_null()).fill_null(
            value=False
        )
        for column in ("year_school", "floor")
        for category in sorted(people[column].unique(), key=lambda value: (value is not None, value))
    ]
    features = pl.DataFrame([series.cast(pl.Float64).alias(str(place)) for place, series in enumerate(hot)])
    return people["id"].cast(pl.String).to_list(), [list(row) for row in features.iter_rows()]
