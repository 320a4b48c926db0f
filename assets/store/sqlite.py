"""What Dagster makes anew for every connection to a SQLite file of a run history, made once.

An engine for each connection compiles every statement anew, which costs more than the statement; and whoever
opens a run's file reads the scripts of all versions of its tables. An engine without a pool holds no
connection, so threads and forks share it.
"""

from functools import lru_cache

import sqlalchemy
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster._core.storage.sql import ALEMBIC_SCRIPTS_LOCATION

MANY = 64  # a run has a file of its own: the engines of the latest stay
LOCATION = "script_location"
READ_SCRIPTS = ScriptDirectory.from_config


def make_once() -> None:
    """Let Dagster's stores take engines and scripts from here."""
    for store in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
        vars(store)["create_engine"] = create_engine
    setattr(ScriptDirectory, "from_config", from_config)  # noqa: B010 - no method of ours


def create_engine(
    address: str, poolclass: type[sqlalchemy.Pool], connect_args: dict[str, float] | None = None
) -> sqlalchemy.Engine:
    """The engine of a file, in the place of SQLAlchemy's function."""
    return shared_engine(address, poolclass, tuple((connect_args or {}).items()))


@lru_cache(MANY)
def shared_engine(
    address: str, poolclass: type[sqlalchemy.Pool], arguments: tuple[tuple[str, float], ...]
) -> sqlalchemy.Engine:
    """The engine of a file, made when it is first asked for."""
    return sqlalchemy.create_engine(address, poolclass=poolclass, connect_args=dict(arguments))


def from_config(config: Config) -> ScriptDirectory:
    """The scripts where a configuration says, in the place of Alembic's method."""
    return shared_scripts(config.get_main_option(LOCATION, ""))


@lru_cache
def shared_scripts(location: str) -> ScriptDirectory:
    """The scripts at a place, read when they are first asked for."""
    config = Config()
    config.set_main_option(LOCATION, location)
    return READ_SCRIPTS(config)


def read_scripts() -> None:
    """Read Dagster's scripts, before forks that would each read them."""
    shared_scripts(ALEMBIC_SCRIPTS_LOCATION).get_current_head()
