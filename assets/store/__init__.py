"""Dagster's storage of a home's runs, events and schedules: SQLite files of the home, or PostgreSQL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import StringSource
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from pipeline.locks import hold
from pipeline.settings import SettingError, Settings

LONGEST_WAIT = 300.0  # seconds to wait for the lock; an idle machine creates the tables within one


class HomeStore(DagsterStorage, ConfigurableClass):
    """Factory, named in `dagster.yaml`, of the storage that LDG_STORE selects; it is never instantiated."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the config schema: the folder of the SQLite files."""
        return {"folder": StringSource}

    @classmethod
    def from_config_value(  # ty: ignore[incompatible-method-override] - returns another class
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> DagsterStorage:
        """Return the storage in the database that LDG_STORE names, otherwise in SQLite files in `folder`."""
        address = Settings.load().store
        if not address:
            return sqlite_store(Path(config_value["folder"]), inst_data)
        return postgres_store(address, inst_data)


def sqlite_store(folder: Path, inst_data: ConfigurableClassData | None = None) -> DagsterStorage:
    """Open the store in SQLite files, one process at a time, because the first creates the tables."""
    with hold(folder / "opening.lock", "the run history is being opened", "Dagster", LONGEST_WAIT):
        return DagsterSqliteStorage.from_local(str(folder), inst_data)


def postgres_store(address: str, inst_data: ConfigurableClassData | None = None) -> DagsterStorage:
    """Open the store in a PostgreSQL database, creating its tables; without a driver, raise SettingError."""
    try:
        from dagster_postgres import DagsterPostgresStorage
    except ImportError:
        raise SettingError(
            "LDG_STORE names a PostgreSQL database, but its driver is missing: `make postgres` installs it"
        ) from None
    return DagsterPostgresStorage(with_driver(address), inst_data=inst_data)


def with_driver(address: str) -> str:
    """Return the address with psycopg2, Dagster's driver; SQLAlchemy 2.1 would default to psycopg 3."""
    return f"postgresql+psycopg2://{address.partition('://')[2]}"
