"""The dense subnetwork of the archive: its members, and the event table of their interactions."""

import heapq
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import polars as pl

from pipeline.cluster.run import run_tasks
from pipeline.cluster.task import Log, Made, Task
from pipeline.event_table import KINDS, EventTable, Split, build_event_table
from pipeline.lake import Lake, file_sha256, own_suffix, paths_within, read_parquet, write_json, write_parquet
from pipeline.names import ASSOCIATION_KIND, FINAL, INITIAL
from pipeline.schemas import SUBNETWORK
from pipeline.sources.gharchive.counts import (
    Thresholds,
    count_pairs,
    count_stretch,
    merge_counts,
    merge_pairs,
    shared_hours,
    stretches,
)
from pipeline.sources.gharchive.database import database, day_files, files_by_day, query_frame
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule

Name = TypeVar("Name", int, str)
DATASET, TITLE = "github", "GitHub"
GROWTH = 1.5  # factor between successive thresholds in `densest_members`


@dataclass(frozen=True)
class Subnetwork:
    """The accounts of the subnetwork and how they were found.

    `accounts` has the columns of the schema SUBNETWORK, sorted by login. `removed` counts, by
    rule, the accounts excluded: seen = removed + members. `missing_days` of the window have no events.
    """

    rule: SubnetworkRule
    accounts: pl.DataFrame
    seen: int
    removed: dict[str, int]
    days: int
    missing_days: int


def find_subnetwork(
    events: Path,
    rule: SubnetworkRule,
    threads: int | None = None,
    cluster: str = "",
    log: Log | None = None,
) -> Subnetwork:
    """Apply `rule` to the normalized events in the `date=…` folders of `events`, day by day.

    The first pass counts every account's events; the second only those of accounts that may qualify, with an
    event archived in several files counted once. On a cluster, `events` must be the home's folder.
    """
    days = files_by_day(events, rule.start, rule.end)
    if not days:
        raise FileNotFoundError(
            f"no normalized events from {rule.start} to {rule.end} in {events}: "
            "build github_events for these days; if the archive has none of their hours, check "
            "LDG_GHARCHIVE_URL, LDG_GITHUB_START and LDG_GITHUB_END"
        )
    thresholds = Thresholds(rule.bots, rule.min_communications, rule.min_associations)
    each = 1 if cluster else threads  # a task of a worker has one thread
    parts = stretches(days.values())
    lake = home_of_events(events)
    place = lake.home if cluster else None  # workers can read only the home
    with TemporaryDirectory(prefix=".counts", suffix=own_suffix(), dir=place) as folder:
        scratch = Path(folder)
        candidates = scratch / "candidates.parquet"
        counts = [scratch / f"counts-{number}.parquet" for number in range(len(parts))]
        pairs_of = [scratch / f"pairs-{number}" for number in range(len(parts))]

        def counted(function: Callable[..., Made], outputs: list[Path], *more: object) -> list[Made]:
            tasks = (
                Task(
                    f"{into.stem}",
                    function,
                    (paths_within(lake, files), *paths_within(lake, [into]), *more, each),
                )
                for files, into in zip(parts, outputs, strict=True)
            )
            return [result for _, result in run_tasks(tasks, lake, cluster, log)]

        hours = counted(count_stretch_there, counts)
        removed = dict.fromkeys(thresholds.reasons, 0)
        removed |= merge_counts(counts, thresholds, candidates, threads)
        counted(count_pairs_there, pairs_of, *paths_within(lake, [candidates]), shared_hours(hours))
        accounts, pairs, of_candidates = merge_pairs(pairs_of, candidates, thresholds, threads)
    for reason, many in of_candidates.items():
        removed[reason] += many
    seen = sum(removed.values()) + accounts.height
    members = set(accounts["number"])
    if rule.core:
        before = len(members)
        members = core_members(pairs, members, rule)
        removed["not in the core"] = before - len(members)
    if rule.max_nodes is not None and len(members) > rule.max_nodes:
        before = len(members)
        members = densest_members(pairs, members, rule.max_nodes)
        if rule.core:
            members = core_members(pairs, members, rule)
        removed[f"beyond the densest {rule.max_nodes}"] = before - len(members)
    inside = initiated(pairs, members)
    accounts = (
        accounts.filter(pl.col("number").is_in(members))
        .join(inside, left_on="number", right_on="u", how="left")
        .with_columns(pl.col("network_communications", "network_associations").fill_null(0))
        .pipe(SUBNETWORK.cast)
        .sort("login")
    )
    window = (rule.end - rule.start + timedelta(days=1)).days
    return Subnetwork(rule, accounts, seen, removed, len(days), window - len(days))


def home_of_events(events: Path) -> Lake:
    """Return the home of a folder of events; a folder outside a home serves as one itself."""
    home = Lake(events.parent.parent)
    return home if home.github_events == events else Lake(events)


def count_stretch_there(
    lake: Lake,
    files: Sequence[Path],
    counts: Path,
    threads: int | None,
    log: Log | None,  # noqa: ARG001 - a task gets it
) -> set[datetime]:
    """Run `count_stretch` on paths relative to a home."""
    return count_stretch([lake.home / file for file in files], lake.home / counts, threads)


def count_pairs_there(
    lake: Lake,
    files: Sequence[Path],
    folder: Path,
    candidates: Path,
    shared: Sequence[datetime],
    threads: int | None,
    log: Log | None,  # noqa: ARG001 - a task gets it
) -> None:
    """Run `count_pairs` on paths relative to a home, unless a worker that died has completed the folder."""
    if not (lake.home / folder).exists():
        paths = [lake.home / file for file in files]
        count_pairs(paths, lake.home / candidates, shared, lake.home / folder, threads)


def initiated(pairs: pl.DataFrame, members: set[int]) -> pl.DataFrame:
    """Count what each member initiated towards other members."""
    among = pairs.filter(pl.col("u").is_in(members) & pl.col("v").is_in(members))
    return among.group_by("u").agg(
        network_communications=pl.col("communications").sum(),
        network_associations=pl.col("associations").sum(),
    )


def core_members(pairs: pl.DataFrame, members: set[int], rule: SubnetworkRule) -> set[int]:
    """Return the core: the largest subset of `members` that satisfies the rule by its own events alone."""
    enough = (pl.col("network_communications") >= rule.min_communications) & (
        pl.col("network_associations") >= rule.min_associations
    )
    while True:
        remaining = set(initiated(pairs, members).filter(enough)["u"])
        if len(remaining) == len(members):
            return members
        members = remaining


def densest_members(pairs: pl.DataFrame, members: set[Name], size: int) -> set[Name]:
    """Return `size` members, after removing the one with the fewest events among the rest, repeatedly.

    Of equals the last by login is removed first; `members` are logins, or numbers in their order. For speed,
    members outside a core of at least `size` are removed at once; they would be the first to go anyway.
    """
    names = sorted(members)
    place = pl.DataFrame({"name": names}, schema={"name": pairs.schema["u"]}).with_row_index("place")
    among = pairs.join(place, left_on="u", right_on="name").join(place, left_on="v", right_on="name")
    u, v = (among[column].to_numpy() for column in ("place", "place_right"))
    events = (among["communications"] + among["associations"]).to_numpy()
    u, v, events = np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([events, events])
    left, threshold = np.ones(len(names), dtype=bool), 1
    while True:
        core = peeled(u, v, events, left, threshold)
        if core.sum() < size:
            break
        left, threshold = core, int(threshold * GROWTH) + 1
        inside = left[u] & left[v]
        u, v, events = u[inside], v[inside], events[inside]
    order = np.argsort(u, kind="stable")
    first = np.searchsorted(u[order], np.arange(len(names) + 1))
    others, events = v[order].tolist(), events[order].tolist()
    degree = {node: sum(events[first[node] : first[node + 1]]) for node in np.flatnonzero(left).tolist()}
    queue = [(many, -node) for node, many in degree.items()]
    heapq.heapify(queue)
    while len(degree) > size:
        many, node = heapq.heappop(queue)
        node = -node
        if degree.get(node) != many:
            continue
        del degree[node]
        for edge in range(first[node], first[node + 1]):
            if (other := others[edge]) in degree:
                degree[other] -= events[edge]
                heapq.heappush(queue, (degree[other], -other))
    return {names[node] for node in degree}


def peeled(u: np.ndarray, v: np.ndarray, events: np.ndarray, left: np.ndarray, threshold: int) -> np.ndarray:
    """Return the subset of `left` in which everyone has at least `threshold` events with the others."""
    while True:
        inside = left[u] & left[v]
        degree = np.bincount(u[inside], events[inside], len(left))
        enough = left & (degree >= threshold)
        if enough.sum() == left.sum():
            return left
        left = enough


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
            "sha256": file_sha256(folder / "accounts.parquet"),
        },
        folder / "subnetwork.json",
    )


def read_subnetwork(folder: Path) -> Subnetwork:
    """Read a stored subnetwork; raise if it is absent or its two files do not match."""
    path = folder / "subnetwork.json"
    if not path.exists():
        raise FileNotFoundError(f"no subnetwork in {folder}: build github/subnetwork")
    record = json.loads(path.read_text(encoding="utf-8"))
    if file_sha256(folder / "accounts.parquet") != record["sha256"]:
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
    events: Path, subnetwork: Subnetwork, split: Split, threads: int | None = None
) -> EventTable:
    """Build the event table of interactions among the subnetwork's members in its window.

    Associations before the window form the initial graph, those within it the final one, as in the paper.
    Nodes are sorted by login, simultaneous events by file and event id.
    """
    rule = subnetwork.rule
    if subnetwork.accounts.height < 2:
        raise ValueError(
            f"the subnetwork has {subnetwork.accounts.height} accounts, no network; lower "
            f"LDG_GITHUB_MIN_COMMUNICATIONS ({rule.min_communications}) or LDG_GITHUB_MIN_ASSOCIATIONS "
            f"({rule.min_associations}), or widen the window from LDG_GITHUB_START ({rule.start}) to "
            f"LDG_GITHUB_END ({rule.end})"
        )
    names = subnetwork.accounts.select("login", key=pl.col("login").str.to_lowercase())
    window, _ = day_files(events, rule.start, rule.end)
    earlier, _ = day_files(events, date.min, rule.start - timedelta(days=1))
    with database(threads) as connection:
        connection.register("names", names.to_arrow())
        rows = query_frame(connection, AMONG, {"files": window, "kinds": list(KINDS)})
        before = (
            query_frame(connection, AMONG, {"files": earlier, "kinds": [ASSOCIATION_KIND]})
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
    ties = rows.filter(pl.col("kind") == ASSOCIATION_KIND).with_columns(relation)
    graphs = [
        frame.select(relation, pl.lit(snapshot).alias("snapshot"), "source", "target")
        for frame, snapshot in ((before, INITIAL), (ties, FINAL))
    ]
    associations = pl.concat(graphs)
    return build_event_table(
        name=DATASET,
        title=TITLE,
        description=(
            f"Public events in GH Archive from {rule.start} to {rule.end} among {names.height} accounts with "
            f"{rule.min_communications} communications and {rule.min_associations} associations or more."
        ),
        rows=rows,
        node_names=names["login"].to_list(),
        split=split,
        own_relations=own_relations(associations["relation"]),
        associations=associations,
        association_events=ties,
        entries_per_association=2,
        dropped=dropped,
    )


def own_relations(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct relations in order, `Follow` first; `Follow` alone if `names` is empty."""
    return tuple(sorted(set(names) or {"Follow"}, key=lambda name: (name != "Follow", name)))


AMONG = """
SELECT actors.login AS source, counterparts.login AS target, type, kind, created_at, count(*) AS copies
FROM read_parquet($files, hive_partitioning = false) events
JOIN names actors ON lower(events.actor) = actors.key
JOIN names counterparts ON lower(events.counterpart) = counterparts.key
WHERE list_contains($kinds, kind)
GROUP BY actors.login, counterparts.login, type, kind, created_at, event_id
ORDER BY created_at, min(file), event_id, type, source, target
"""
