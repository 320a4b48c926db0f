"""Choice of the people to follow: the densest core of recent traffic without machines, or those named.

A pair of accounts counts once for each day on which one acted on the other, so that one busy day weighs no
more than a single message. The core is found by repeatedly removing the account with the fewest such days. To
bound memory, the database first removes accounts with fewer days than any core of that size has. This does
not change the result: they would be removed first anyway.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

import duckdb
import msgspec
import polars as pl

from pipeline.following.archive_days import token_of
from pipeline.following.digest import digest_of, digest_of_rows
from pipeline.following.files import FollowingFiles
from pipeline.following.rule import FollowRule
from pipeline.following.window import Window, window_until
from pipeline.lake import Lake, read_parquet, write_json, write_parquet
from pipeline.schemas import FOLLOWED
from pipeline.sources.gharchive.database import database, day_files, query_frame
from pipeline.sources.gharchive.subnetwork import densest_members
from pipeline.sources.gharchive.subnetwork_rule import BOT_PATTERNS, any_of

# An account with more events, or more hours with events, per active day on average is a machine.
MACHINE_EVENTS = 200
MACHINE_HOURS = 16
VERSION = 1  # of the rule: raise it when the same days would give other people
GROWTH = 1.5  # factor between successive thresholds of the core
PEOPLE = {name: FOLLOWED.types[name] for name in ("node", "name", "why")}


@dataclass(frozen=True)
class Choice:
    """People chosen from the days of a window, by node; `facts` records how they were found."""

    window: Window
    people: pl.DataFrame
    facts: dict[str, Any]

    @property
    def chosen_on(self) -> date:
        """Last day of the window, which identifies the choice."""
        return self.window.last

    @property
    def names(self) -> list[str]:
        """Names of the people, by node."""
        return self.people["name"].to_list()

    @property
    def digest(self) -> str:
        """Digest of the people's nodes and names."""
        return digest_of_rows(self.people.select("node", "name"))


def stored_choice(lake: Lake, chosen_on: date) -> Choice | None:
    """Return the stored choice of a day, or None if it is missing or incomplete."""
    path = FollowingFiles.of(lake).people(chosen_on)
    note = path.with_suffix(".json")
    if not note.exists():
        return None
    facts, people = msgspec.json.decode(note.read_bytes()), read_parquet(path)
    if facts["people"] != digest_of_rows(people):  # a killed process wrote one of the two
        return None
    return Choice(Window(*map(date.fromisoformat, facts["window"])), people, facts)


def days_of_choices(lake: Lake, start: date) -> list[date]:
    """Return the days on which people were chosen since following began on `start`, in order."""
    notes = sorted((lake.following / "choices").glob("????-??-??.json"))
    return [
        date.fromisoformat(note.stem)
        for note in notes
        if msgspec.json.decode(note.read_bytes())["start"] == str(start)
    ]


def make_choice(lake: Lake, rule: FollowRule, chosen_on: date, start: date) -> Choice:
    """Return the choice of a day: the stored one, or a new one if a day of its window changed.

    A stored choice keeps the rule that it was made by: a changed rule applies to later choices.
    """
    stored = stored_choice(lake, chosen_on)
    if stored is not None and stored.facts["start"] != str(start):
        stored = None  # that of an earlier chain of days
    if stored is not None:
        rule = msgspec.convert(stored.facts["rule"], FollowRule)
    window = window_until(chosen_on, rule.days)
    inputs = digest_of([VERSION, rule.as_json(), *(token_of(lake, day) for day in window)])
    if stored is not None and stored.facts["inputs"] == inputs:
        return stored
    people, facts = choose(lake, rule, window)
    facts |= {"inputs": inputs, "people": digest_of_rows(people), "start": str(start)}
    facts |= {"window": [str(window.first), str(window.last)], "rule": rule.as_json()}
    path = FollowingFiles.of(lake).people(chosen_on)
    write_parquet(people, path)
    write_json(facts, path.with_suffix(".json"))
    return Choice(window, people, facts)


def choose(lake: Lake, rule: FollowRule, window: Window) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the people of a window, by node (in order of lower-case name), and how they were found."""
    files, days = day_files(lake.github_events, window.first, window.last)
    if not files:
        raise FileNotFoundError(
            f"no events from {window.first} to {window.last} in {lake.github_events}: bring these days first"
        )
    with database() as connection:
        connection.execute(MEETINGS, {"files": files})
        connection.execute(ACTIVE_DAYS, {"files": files})
        connection.execute(
            MACHINES, {"bots": BOTS, "most_events": MACHINE_EVENTS, "most_hours": MACHINE_HOURS}
        )
        connection.execute(PAIRS)
        named = why_named(connection, rule)
        why = named or why_in_core(connection, rule.nodes)
        connection.register("chosen", pl.DataFrame({"key": list(why)}).to_arrow())
        spelled = dict(connection.execute(SPELLED, {"files": files}).fetchall())
        facts = {
            "days": days,
            "missing_days": len(window) - days,
            "accounts": choice_rows(connection, "(select u from pairs union select v from pairs)"),
            "machines": choice_rows(connection, "machines"),
        }
    as_named = {name.lower(): name for name in (*rule.accounts, *rule.organizations)}
    if len(why) < 3:
        raise ValueError(
            f"{len(why)} accounts to follow from {window.first} to {window.last}, no network: look back "
            "further (LDG_FOLLOW_DAYS) or name accounts (LDG_FOLLOW_ACCOUNTS)"
        )
    rows = [
        (node, spelled.get(key) or as_named.get(key, key), why[key]) for node, key in enumerate(sorted(why))
    ]
    return pl.DataFrame(rows, schema=PEOPLE, orient="row"), facts | {"people_chosen": len(rows)}


def why_named(connection: duckdb.DuckDBPyConnection, rule: FollowRule) -> dict[str, str]:
    """Return the accounts and organizations named, and who acts on these, with the reason; may be empty."""
    why = {name.lower(): "named in LDG_FOLLOW_ACCOUNTS" for name in rule.accounts}
    organizations = [name.lower() for name in rule.organizations]
    why |= {key: "named in LDG_FOLLOW_ORGANIZATIONS" for key in organizations if key not in why}
    if organizations:
        most = max(rule.nodes - len(why), 0)
        parameters = {"organizations": organizations, "named": list(why), "most": most}
        for key, days in connection.execute(ACTS_ON, parameters).fetchall():
            why[key] = f"acted on these organizations on {days} days"
    return why


def why_in_core(connection: duckdb.DuckDBPyConnection, size: int) -> dict[str, str]:
    """Return the densest `size` accounts, each with its number of days shared with the others."""
    connection.execute("create table core as select * from pairs")
    threshold = 1
    while True:
        members = peel(connection, threshold)
        if members < size:
            break
        connection.execute("create or replace table core as select * from peeled")
        threshold = int(threshold * GROWTH) + 1
    pairs = query_frame(connection, "select u, v, days as communications, 0 as associations from core")
    members = densest_members(pairs, {*pairs["u"], *pairs["v"]}, size)
    among = pairs.filter(pl.col("u").is_in(members) & pl.col("v").is_in(members))
    both = pl.concat([among, among.rename({"u": "v", "v": "u"}).select(among.columns)])
    joined = both.group_by("u").agg(days=pl.col("communications").sum(), others=pl.len())
    why = {
        key: f"in the densest core: {days} days with {others} others"
        for key, days, others in joined.iter_rows()
    }
    return {key: why.get(key, "in the densest core") for key in members}


def peel(connection: duckdb.DuckDBPyConnection, threshold: int) -> int:
    """Create `peeled`, the part of `core` where every account has `threshold` days; return its size."""
    connection.execute("create or replace table peeled as select * from core")
    before = -1
    while True:
        connection.execute(ENOUGH, {"threshold": threshold})
        members = choice_rows(connection, "enough")
        if members == before:
            return members
        before = members
        connection.execute(
            "create or replace table peeled as select * from peeled "
            "where u in (select key from enough) and v in (select key from enough)"
        )


def choice_rows(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    """Return the number of rows of a table."""
    ((rows,),) = connection.execute(f"select count(*) from {table}").fetchall()  # noqa: S608 - own names
    return rows


BOTS = any_of(BOT_PATTERNS)

MEETINGS = """
create table meetings as
select distinct lower(actor) as actor, lower(counterpart) as target, created_at::date as day
from read_parquet($files, hive_partitioning = false)
where actor is not null and lower(actor) <> lower(counterpart)
"""

ACTIVE_DAYS = """
create table active_days as
select lower(actor) as key, created_at::date as day, count(*) as events,
       bit_count(bit_or(1 << hour(created_at)::int)) as hours
from read_parquet($files, hive_partitioning = false)
where actor is not null
group by all
"""

MACHINES = """
create table machines as
select key from active_days group by key having avg(events) > $most_events or avg(hours) > $most_hours
union
select key from (select actor as key from meetings union select target from meetings)
where regexp_full_match(key, $bots)
"""

PAIRS = """
create table pairs as
select u, v, count(*)::int as days
from (
    select distinct least(actor, target) as u, greatest(actor, target) as v, day from meetings
    where actor not in (select key from machines) and target not in (select key from machines)
)
group by u, v
"""

ENOUGH = """
create or replace table enough as
select key
from (select u as key, days from peeled union all select v, days from peeled)
group by key having sum(days) >= $threshold
"""

ACTS_ON = """
select actor, count(distinct day) as days
from meetings
where list_contains($organizations, target) and not list_contains($named, actor)
  and actor not in (select key from machines)
group by actor
order by days desc, actor
limit $most
"""

SPELLED = """
select lower(name), max({'at': created_at, 'name': name}).name
from (
    select actor as name, created_at from read_parquet($files, hive_partitioning = false)
    union all
    select counterpart, created_at from read_parquet($files, hive_partitioning = false)
)
where lower(name) in (select key from chosen)
group by all
"""
