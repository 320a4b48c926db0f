"""A home's run history, copied from its SQLite files into a PostgreSQL database.

SQLite has a file of events per run and one that mirrors what concerns assets; PostgreSQL has one table of
events, in which each gets a new number. So events are stored anew in order of time, and what points at a
number (a check at the materialization it judged, a materialization at what it was made from) at the new one.
"""

import heapq
import re
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as db
from dagster import DagsterEventType, EventLogEntry
from dagster._core.scheduler.instigation import InstigatorState, SensorInstigatorData
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES, RunsFilter
from dagster._core.storage.event_log.schema import DynamicPartitionsTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.runs.schema import (
    BackfillTagsTable,
    BulkActionsTable,
    RunsTable,
    RunTagsTable,
    SnapshotsTable,
)
from dagster._core.storage.schedules.schema import InstigatorsTable, JobTable, JobTickTable
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import deserialize_value, serialize_value

from assets.dagster_home import dagster_folder
from assets.store import postgres_store, with_driver
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.sources.urls import shown_address

HEARTBEAT = 60.0  # seconds: a daemon that lives is heard of more often
BATCH = 500
POINTER = re.compile(
    r'("dagster/input_event_pointer/[^"]*": "'
    r'|"AssetCheckEvaluationTargetMaterializationData"[^}]*?"storage_id": )(\d+)'
)
POINTED_AT = (DagsterEventType.ASSET_MATERIALIZATION.value, DagsterEventType.ASSET_OBSERVATION.value)
TABLES = {
    "history/runs.db": (SnapshotsTable, RunsTable, RunTagsTable, BulkActionsTable, BackfillTagsTable),
    "schedules/schedules.db": (JobTable, InstigatorsTable, JobTickTable),
    f"history/runs/{INDEX_SHARD_NAME}.db": (DynamicPartitionsTable,),
}


class MigrationError(Exception):
    """The history cannot be copied now; the message says why, and what to do."""


@dataclass(frozen=True)
class Copied:
    """How much was copied."""

    runs: int
    events: int


@dataclass(frozen=True)
class StoredEvent:
    """An event as SQLite has it: the columns of its row save the number."""

    run_id: str
    event: str
    dagster_event_type: str | None
    timestamp: str
    step_key: str | None
    asset_key: str | None
    partition: str | None

    @property
    def concerns_an_asset(self) -> bool:
        """Whether other tables follow from it."""
        return (self.dagster_event_type or "").startswith("ASSET_")


@dataclass(frozen=True, order=True)
class Shard:
    """A file of events: the time of the first, and how many there are."""

    first: str
    path: Path
    events: int


def migrate_history(settings: Settings) -> Copied:
    """Copy all runs, events and schedules of the home into the database, which must have none."""
    files = dagster_folder(settings)
    source, target = DagsterSqliteStorage.from_local(str(files)), postgres_store(settings.store)
    refuse_work_going_on(source)
    if target.run_storage.get_runs_count():
        raise MigrationError(
            f"{shown_address(settings.store)} has runs already: the history goes into a database without any"
        )
    engine = db.create_engine(with_driver(settings.store))
    with engine.begin() as into:
        for database, tables in TABLES.items():
            for table in tables:
                copy_rows(table, files / database, into)
    copy_limits(source, target)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as into:
        events = copy_events(files / "history" / "runs", into, target)
    return Copied(target.run_storage.get_runs_count(), events)


def refuse_work_going_on(source: DagsterStorage) -> None:
    """An error while a daemon lives or runs are going on: what they write would be lost."""
    now = datetime.now(UTC).timestamp()
    beats = [beat.timestamp for beat in source.run_storage.get_daemon_heartbeats().values()]
    if any(now - beat < HEARTBEAT for beat in beats):
        raise MigrationError(
            "Dagster's daemon was at work on this home within the last minute: stop `ldg dev` or the "
            "services, and try again in a minute"
        )
    going_on = source.run_storage.get_runs_count(RunsFilter(statuses=IN_PROGRESS_RUN_STATUSES))
    if going_on:
        raise MigrationError(f"{going_on} runs are going on: let them end, or end them in the UI")


def copy_rows(table: db.Table, database: Path, into: db.Connection) -> None:
    """Copy every row of a table with its number, and let the next one come after."""
    with db.create_engine(f"sqlite:///{database}").connect() as rows:
        result = rows.execute(db.select(table).order_by(table.c.id)).mappings()
        while batch := result.fetchmany(BATCH):
            into.execute(table.insert(), [without_cursor(row) for row in batch])
    last = db.select(db.func.max(table.c.id)).scalar_subquery()
    into.execute(db.select(db.func.setval(db.func.pg_get_serial_sequence(table.name, "id"), last)))


def without_cursor(row: Mapping[str, object]) -> dict[str, object]:
    """A sensor's row without the place up to which it has looked, which is a number of the old store."""
    bodies = {}
    for column in ("job_body", "instigator_body"):
        if isinstance(body := row.get(column), str):
            state = deserialize_value(body, InstigatorState)
            if isinstance(data := state.instigator_data, SensorInstigatorData):
                bodies[column] = serialize_value(state.with_data(data._replace(cursor=None)))
    return {**row, **bodies}


def copy_limits(source: DagsterStorage, target: DagsterStorage) -> None:
    """The limits of pools that somebody set in the UI."""
    for pool in source.event_log_storage.get_concurrency_keys():
        info = source.event_log_storage.get_concurrency_info(pool)
        if not info.using_default_limit and info.limit is not None:
            target.event_log_storage.set_concurrency_slots(pool, info.limit)


def copy_events(folder: Path, into: db.Connection, target: DagsterStorage) -> int:
    """Store every event anew; return how many."""
    numbers = index_numbers(folder / f"{INDEX_SHARD_NAME}.db")
    new_numbers: dict[int, int] = {}
    plain: list[StoredEvent] = []

    def flush() -> None:
        if plain:
            into.execute(SqlEventLogStorageTable.insert(), [row_of(event) for event in plain])
            plain.clear()

    shards = [shard for path in shard_paths(folder) if (shard := read_shard(path))]
    events = sum(shard.events for shard in shards)
    with Progress("copy", events, "events") as progress:
        for event in in_order_of_time(shards):
            progress.advance()
            if not event.concerns_an_asset:
                plain.append(event)
                if len(plain) == BATCH:
                    flush()
                continue
            flush()
            text = POINTER.sub(
                lambda pointer: pointer[1] + str(new_numbers.get(int(pointer[2]), pointer[2])), event.event
            )
            target.event_log_storage.store_event(deserialize_value(text, EventLogEntry))
            if event.dagster_event_type in POINTED_AT:
                newest = into.execute(db.select(db.func.max(SqlEventLogStorageTable.c.id))).scalar_one()
                new_numbers[numbers[event.run_id, event.event]] = newest
        flush()
    return events


def row_of(event: StoredEvent) -> dict[str, object]:
    """An event as a row of the table of events."""
    return {**vars(event), "timestamp": datetime.fromisoformat(event.timestamp)}


def index_numbers(index: Path) -> dict[tuple[str, str], int]:
    """The number of each materialization and observation in the file that mirrors them."""
    marks = ", ".join("?" for _ in POINTED_AT)
    query = f"select run_id, event, id from event_logs where dagster_event_type in ({marks})"  # noqa: S608 - own marks
    with closing(read_only(index)) as connection:
        return {(run, event): number for run, event, number in connection.execute(query, POINTED_AT)}


def shard_paths(folder: Path) -> list[Path]:
    """The files of events, one per run, and one of events without a run, whose name has no stem."""
    return [path for path in folder.iterdir() if path.name.endswith(".db") and path.stem != INDEX_SHARD_NAME]


def read_shard(path: Path) -> Shard | None:
    """What a file of events holds, or None if it holds none."""
    with closing(read_only(path)) as connection:
        first, events = connection.execute("select min(timestamp), count(*) from event_logs").fetchone()
    return Shard(first, path, events) if events else None


def in_order_of_time(shards: Iterable[Shard]) -> Iterator[StoredEvent]:
    """The events of all runs in order of time, those of a run in their own; few files are open at once."""
    waiting = deque(sorted(shards))
    going: list[tuple[str, int, StoredEvent, Iterator[StoredEvent]]] = []
    opened = 0
    while waiting or going:
        while waiting and (not going or waiting[0].first <= going[0][0]):
            events = events_of(waiting.popleft().path)
            event, opened = next(events), opened + 1
            heapq.heappush(going, (event.timestamp, opened, event, events))
        _, number, event, events = going[0]
        yield event
        if following := next(events, None):
            heapq.heapreplace(going, (following.timestamp, number, following, events))
        else:
            heapq.heappop(going)


def events_of(shard: Path) -> Iterator[StoredEvent]:
    """The events of a run, in their order."""
    columns = "run_id, event, dagster_event_type, timestamp, step_key, asset_key, partition"
    with closing(read_only(shard)) as connection:
        for row in connection.execute(f"select {columns} from event_logs order by id"):  # noqa: S608 - own names
            yield StoredEvent(*row)


def read_only(path: Path) -> sqlite3.Connection:
    """A SQLite file, to read."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
