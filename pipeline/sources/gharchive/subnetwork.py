"""Which accounts form the dense subnetwork of the archive, and the event table of what happens among them."""

import glob
import heapq
import json
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from pipeline.event_table import KINDS, EventTable, Split, build_event_table, sha256
from pipeline.lake import read_parquet, write_json, write_parquet
from pipeline.schemas import SUBNETWORK

# Accounts that are machines, as regular expressions over the whole lower-case login.
BOT_PATTERNS = (
    r".*\[bot\]",  # GitHub Apps
    r".*[-_.]bot\d*",
    r"bot[-_.].*",
    r".*(build|deploy|merge|release|commit|travis|jenkins|issue|review)bot\d*",
    r".+-(ci|jenkins|travis|buildmaster|autobuild|deployer)",
    r"(travis-?ci|jenkins(ci)?|hudson|houndci|coveralls|codecov|dependabot|renovate|greenkeeper(io)?)",
    r"(dependabot|renovate|greenkeeper|snyk|pyup)[-_].*",
    r"(web-flow|ghost|github-actions|invalid-email-address)",  # GitHub's own stand-ins
)


@dataclass(frozen=True)
class SubnetworkRule:
    """Who belongs to the subnetwork; the defaults are the paper's.

    An account qualifies if it is no bot and initiated at least `min_communications` and `min_associations` in
    the window, self-interactions apart. `start` and `end` are file days, both inside. With `core`, only
    events among members count, and the rule is applied until nobody more falls out. `max_nodes` keeps the
    densest part: the account with the fewest events among the rest leaves, one by one.
    """

    min_communications: int = 200
    min_associations: int = 7
    start: date = date(2013, 1, 1)
    end: date = date(2013, 12, 31)
    core: bool = False
    max_nodes: int | None = None
    bot_patterns: tuple[str, ...] = BOT_PATTERNS

    def __post_init__(self) -> None:
        for name in ("min_communications", "min_associations"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it takes a whole number from 0")
        if self.start > self.end:
            raise ValueError(f"start {self.start} is after end {self.end}")
        if self.max_nodes is not None and self.max_nodes < 2:
            raise ValueError(f"max_nodes is {self.max_nodes}; it takes a whole number from 2, or None")


@dataclass(frozen=True)
class Subnetwork:
    """The accounts of the subnetwork and how they were found.

    `accounts` has the columns of the schema SUBNETWORK, sorted by login. `removed` tells, rule by rule, how
    many of the `seen` accounts left: seen = removed + members. `missing_days` of the window hold no events.
    """

    rule: SubnetworkRule
    accounts: pl.DataFrame
    seen: int
    removed: dict[str, int]
    days: int
    missing_days: int


def find_subnetwork(
    events: Path, rule: SubnetworkRule, memory_limit: str = "1GB", threads: int | None = None
) -> Subnetwork:
    """Apply `rule` to the normalized events in the `date=…` folders of `events`, out of core.

    The first pass counts every account's events; the second looks only at accounts that may qualify, and
    there an event archived in several files counts once.
    """
    files, days = day_files(events, rule.start, rule.end)
    if not files:
        raise FileNotFoundError(
            f"no normalized events from {rule.start} to {rule.end} in {events}: "
            "build github_events for these days"
        )
    removed = {
        "bot": 0,
        f"fewer than {rule.min_communications} communications": 0,
        f"fewer than {rule.min_associations} associations": 0,
    }
    with database(memory_limit, threads) as connection:
        connection.execute(COUNT_SPELLINGS, {"files": files})
        connection.execute(COUNT_ACCOUNTS)
        judge(connection, rule)
        connection.execute(CHOOSE_EVENTS, {"files": files})
        connection.execute(RECOUNT)
        judge(connection, rule)
        removed |= dict(connection.execute(REMOVED).fetchall())
        seen = sum(removed.values())
        accounts = frame(connection, QUALIFIED)
        pairs = frame(connection, PAIRS)
    members = set(accounts["key"])
    seen += len(members)
    if rule.core:
        before = len(members)
        members = core(pairs, members, rule)
        removed["not in the core"] = before - len(members)
    if rule.max_nodes is not None and len(members) > rule.max_nodes:
        before = len(members)
        members = densest(pairs, members, rule.max_nodes)
        if rule.core:
            members = core(pairs, members, rule)
        removed[f"beyond the densest {rule.max_nodes}"] = before - len(members)
    inside = initiated(pairs, members).rename({"u": "key"})
    accounts = (
        accounts.filter(pl.col("key").is_in(members))
        .join(inside, on="key", how="left")
        .with_columns(pl.col("network_communications", "network_associations").fill_null(0))
        .pipe(SUBNETWORK.cast)
        .sort("login")
    )
    window = (rule.end - rule.start + timedelta(days=1)).days
    return Subnetwork(rule, accounts, seen, removed, days, window - days)


def day_files(events: Path, start: date, end: date) -> tuple[list[str], int]:
    """The Parquet files of the file days from `start` to `end`, and how many days have any.

    DuckDB takes a file for a pattern, so what a pattern would say is escaped.
    """
    parts_of_days = {
        day: sorted(glob.escape(str(part)) for part in day.glob("*.parquet"))
        for day in sorted(events.glob("date=*"))
        if start.isoformat() <= day.name.removeprefix("date=") <= end.isoformat()
    }
    parts = [part for of_day in parts_of_days.values() for part in of_day]
    return parts, sum(map(bool, parts_of_days.values()))


@contextmanager
def database(memory_limit: str, threads: int | None) -> Generator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory that spills to a scratch folder beyond `memory_limit`."""
    with TemporaryDirectory(prefix="ldg-duckdb-") as scratch, duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{scratch}'")
        connection.execute(f"SET memory_limit = '{memory_limit}'")
        connection.execute("SET preserve_insertion_order = false")
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        yield connection


def frame(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, object] | None = None
) -> pl.DataFrame:
    """The answer to `query` as a frame."""
    return connection.sql(query, params=parameters).pl()


# Accounts are grouped as spelled and their case folded afterwards: lower-casing every event would cost more.
COUNT_SPELLINGS = """
CREATE TABLE spellings AS
SELECT actor, lower(actor) AS key,
       count(*) FILTER (kind = 'communication') AS communications,
       count(*) FILTER (kind = 'association') AS associations
FROM (
    SELECT actor, CASE WHEN lower(actor) <> lower(counterpart) THEN kind END AS kind
    FROM read_parquet($files, hive_partitioning = false)
    WHERE actor IS NOT NULL
)
GROUP BY actor
"""

COUNT_ACCOUNTS = """
CREATE TABLE counts AS
SELECT key, sum(communications) AS communications, sum(associations) AS associations, NULL::VARCHAR AS reason
FROM spellings GROUP BY key
"""

CHOOSE_EVENTS = """
CREATE TABLE chosen AS
SELECT DISTINCT type, event_id, created_at, kind, actor, lower(actor) AS u, lower(counterpart) AS v
FROM read_parquet($files, hive_partitioning = false)
WHERE actor IN (SELECT actor FROM spellings JOIN counts USING (key) WHERE reason IS NULL)
  AND lower(actor) <> lower(counterpart)
"""

RECOUNT = """
UPDATE counts
SET communications = exact.communications, associations = exact.associations
FROM (
    SELECT u, count(*) FILTER (kind = 'communication') AS communications,
           count(*) FILTER (kind = 'association') AS associations
    FROM chosen GROUP BY u
) exact
WHERE counts.key = exact.u
"""

REMOVED = "SELECT reason, count(*) FROM counts WHERE reason IS NOT NULL GROUP BY reason"

QUALIFIED = """
SELECT key, coalesce(login, key) AS login,
       communications::BIGINT AS communications, associations::BIGINT AS associations
FROM counts
LEFT JOIN (SELECT u, max({'at': created_at, 'login': actor}).login AS login FROM chosen GROUP BY u) ON u = key
WHERE reason IS NULL
"""

PAIRS = """
SELECT u, v, count(*) FILTER (kind = 'communication') AS communications,
       count(*) FILTER (kind = 'association') AS associations
FROM chosen
WHERE u IN (SELECT key FROM counts WHERE reason IS NULL)
  AND v IN (SELECT key FROM counts WHERE reason IS NULL)
GROUP BY u, v
"""


def judge(connection: duckdb.DuckDBPyConnection, rule: SubnetworkRule) -> None:
    """Write beside each account still in the table the first rule that removes it, if any."""
    connection.execute(
        """
        UPDATE counts
        SET reason = CASE
            WHEN regexp_full_match(key, $bots) THEN 'bot'
            WHEN communications < $communications THEN $few_communications
            WHEN associations < $associations THEN $few_associations
        END
        WHERE reason IS NULL
        """,
        {
            # A class that matches nothing stands for an empty list.
            "bots": "|".join(f"(?:{pattern})" for pattern in rule.bot_patterns) or r"[^\s\S]",
            "communications": rule.min_communications,
            "associations": rule.min_associations,
            "few_communications": f"fewer than {rule.min_communications} communications",
            "few_associations": f"fewer than {rule.min_associations} associations",
        },
    )


def initiated(pairs: pl.DataFrame, members: set[str]) -> pl.DataFrame:
    """What each member initiated towards other members."""
    among = pairs.filter(pl.col("u").is_in(members) & pl.col("v").is_in(members))
    return among.group_by("u").agg(
        network_communications=pl.col("communications").sum(),
        network_associations=pl.col("associations").sum(),
    )


def core(pairs: pl.DataFrame, members: set[str], rule: SubnetworkRule) -> set[str]:
    """The largest part of `members` in which everyone keeps the rule by events among them alone."""
    enough = (pl.col("network_communications") >= rule.min_communications) & (
        pl.col("network_associations") >= rule.min_associations
    )
    while True:
        remaining = set(initiated(pairs, members).filter(enough)["u"])
        if len(remaining) == len(members):
            return members
        members = remaining


def densest(pairs: pl.DataFrame, members: set[str], size: int) -> set[str]:
    """`size` members left when the one with the fewest events among the rest leaves, again and again.

    Of equals the last by login leaves first.
    """
    weights: dict[str, dict[str, int]] = {member: defaultdict(int) for member in members}
    for u, v, communications, associations in pairs.iter_rows():
        if u in members and v in members:
            weights[u][v] += communications + associations
            weights[v][u] += communications + associations
    # Equal counts pop in reverse order of login.
    place = {member: -rank for rank, member in enumerate(sorted(members))}
    degree = {member: sum(others.values()) for member, others in weights.items()}
    queue = [(degree[member], place[member], member) for member in members]
    heapq.heapify(queue)
    remaining = set(members)
    while len(remaining) > size:
        events, _, member = heapq.heappop(queue)
        if member not in remaining or events != degree[member]:
            continue
        remaining.remove(member)
        for other, count in weights[member].items():
            if other in remaining:
                degree[other] -= count
                heapq.heappush(queue, (degree[other], place[other], other))
    return remaining


def write_subnetwork(subnetwork: Subnetwork, folder: Path) -> None:
    """Write `accounts.parquet` and, last, `subnetwork.json`."""
    write_parquet(subnetwork.accounts, folder / "accounts.parquet")
    rule = asdict(subnetwork.rule)
    write_json(
        {
            "rule": {**rule, "start": rule["start"].isoformat(), "end": rule["end"].isoformat()},
            "seen": subnetwork.seen,
            "removed": subnetwork.removed,
            "members": subnetwork.accounts.height,
            "days": subnetwork.days,
            "missing_days": subnetwork.missing_days,
            "sha256": sha256(folder / "accounts.parquet"),
        },
        folder / "subnetwork.json",
    )


def read_subnetwork(folder: Path) -> Subnetwork:
    """Read a subnetwork back; one that is absent or half replaced is refused."""
    path = folder / "subnetwork.json"
    if not path.exists():
        raise FileNotFoundError(f"no subnetwork in {folder}: build github/subnetwork")
    record = json.loads(path.read_text(encoding="utf-8"))
    if sha256(folder / "accounts.parquet") != record["sha256"]:
        raise ValueError(
            f"{folder / 'accounts.parquet'} is not the file that subnetwork.json describes: "
            "build github/subnetwork again"
        )
    rule = record["rule"] | {
        "start": date.fromisoformat(record["rule"]["start"]),
        "end": date.fromisoformat(record["rule"]["end"]),
        "bot_patterns": tuple(record["rule"]["bot_patterns"]),
    }
    return Subnetwork(
        rule=SubnetworkRule(**rule),
        accounts=read_parquet(folder / "accounts.parquet"),
        **{key: record[key] for key in ("seen", "removed", "days", "missing_days")},
    )


def subnetwork_table(
    events: Path, subnetwork: Subnetwork, split: Split, memory_limit: str = "1GB", threads: int | None = None
) -> EventTable:
    """The event table of what the subnetwork's members do among themselves in its window.

    Associations before the window are the initial graph, those within it the final one, as the paper counts
    them. Nodes are sorted by login; events at the same moment by file and event id.
    """
    rule = subnetwork.rule
    if subnetwork.accounts.height < 2:
        raise ValueError(
            f"the subnetwork has {subnetwork.accounts.height} accounts, no network; lower min_communications "
            f"({rule.min_communications}) or min_associations ({rule.min_associations}), or widen the window"
        )
    names = subnetwork.accounts.select("login", key=pl.col("login").str.to_lowercase())
    window, _ = day_files(events, rule.start, rule.end)
    earlier, _ = day_files(events, date.min, rule.start - timedelta(days=1))
    with database(memory_limit, threads) as connection:
        connection.register("names", names.to_arrow())
        rows = frame(connection, AMONG, {"files": window, "kinds": list(KINDS)})
        before = (
            frame(connection, AMONG, {"files": earlier, "kinds": ["association"]})
            if earlier
            else rows.head(0)
        )
    loops = pl.col("source") == pl.col("target")
    dropped = {
        "archived more than once": int(rows["copies"].sum() - rows.height),
        "self-interaction": rows.filter(loops).height,
    }
    rows, before = rows.filter(~loops), before.filter(~loops)
    relation = pl.col("type").str.strip_suffix("Event").alias("relation")
    ties = rows.filter(pl.col("kind") == "association").with_columns(relation)
    graphs = [
        frame.select(relation, pl.lit(snapshot).alias("snapshot"), "source", "target")
        for frame, snapshot in ((before, "initial"), (ties, "final"))
    ]
    associations = pl.concat(graphs)
    own = sorted(set(associations["relation"]) or {"Follow"}, key=lambda name: (name != "Follow", name))
    return build_event_table(
        name="github",
        title="GitHub",
        description=(
            f"Public events in GH Archive from {rule.start} to {rule.end} among {names.height} accounts with "
            f"{rule.min_communications} communications and {rule.min_associations} associations or more."
        ),
        rows=rows,
        node_names=names["login"].to_list(),
        split=split,
        own_relations=own,
        associations=associations,
        association_events=ties,
        entries_per_association=2,
        dropped=dropped,
    )


AMONG = """
SELECT actors.login AS source, counterparts.login AS target, type, kind, created_at, count(*) AS copies
FROM read_parquet($files, hive_partitioning = false) events
JOIN names actors ON lower(events.actor) = actors.key
JOIN names counterparts ON lower(events.counterpart) = counterparts.key
WHERE list_contains($kinds, kind)
GROUP BY actors.login, counterparts.login, type, kind, created_at, event_id
ORDER BY created_at, min(file), event_id, type, source, target
"""
