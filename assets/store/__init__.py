"""Where Dagster keeps a home's runs, events and schedules: in SQLite files of the home, or in PostgreSQL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import StringSource
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from pipeline.locks import hold
from pipeline.settings import SettingError, Settings

LONGEST_WAIT = 300.0  # seconds: it is made within one, by a machine that is not busy


class HomeStore(DagsterStorage, ConfigurableClass):
    """What `dagster.yaml` names as storage: the setting LDG_STORE says which it is. Never made itself."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """The folder of the SQLite files."""
        return {"folder": StringSource}

    @classmethod
    def from_config_value(  # ty: ignore[incompatible-method-override] - one of two others, never itself
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> DagsterStorage:
        """The database that LDG_STORE names, or files in `folder`."""
        address = Settings.load().store
        if not address:
            return sqlite_store(Path(config_value["folder"]), inst_data)
        return postgres_store(address, inst_data)


def sqlite_store(folder: Path, inst_data: ConfigurableClassData | None = None) -> DagsterStorage:
    """The store in SQLite files, which one process at a time opens: the first makes their tables."""
    with hold(folder / "opening.lock", "the run history is being opened", "Dagster", LONGEST_WAIT):
        return DagsterSqliteStorage.from_local(str(folder), inst_data)


def postgres_store(address: str, inst_data: ConfigurableClassData | None = None) -> DagsterStorage:
    """The store in a PostgreSQL database, whose tables are made if it has none."""
    try:
        from dagster_postgres import DagsterPostgresStorage
    except ImportError:
        raise SettingError(
            "LDG_STORE names a PostgreSQL database, but its driver is missing: `make postgres` installs it"
        ) from None
    return DagsterPostgresStorage(with_driver(address), inst_data=inst_data)


def with_driver(address: str) -> str:
    """The address with its driver: SQLAlchemy 2.1 reads a bare one as psycopg 3, and Dagster brings 2."""
    return f"postgresql+psycopg2://{address.partition('://')[2]}"
