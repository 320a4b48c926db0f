"""The lake: paths of all files below one home, and atomic writes."""

import hashlib
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl


def machine_name() -> str:
    """Return a name for this machine, unique among those that share a home and safe in file names.

    It includes the PID namespace: a container may have its host's name but process ids of its own.
    """
    name = re.sub(r"[^\w-]", "-", socket.gethostname(), flags=re.ASCII)
    numbering = Path("/proc/self/ns/pid")
    return f"{name}-{numbering.stat().st_ino}" if numbering.exists() else name


MACHINE = machine_name()
WAITS_FACTS = "waiting_times.json"  # in the folder of waiting-time models; written last


@dataclass(frozen=True)
class Lake:
    """The paths below `$LDG_HOME`; does not access the file system."""

    home: Path
    storage: str = ""  # shared storage, for instance s3://bucket/prefix (pipeline.storage)

    def __post_init__(self) -> None:
        # DuckDB misplaces its log at ? or \; the URL of Dagster's SQLite ends at ? and decodes %.
        if refused := sorted(set(str(self.home.absolute())) & set("?%\\")):
            raise ValueError(
                f"the home {self.home.absolute()} has {' and '.join(refused)} in its path, which databases "
                "read as something else: set LDG_HOME to a folder without"
            )

    @property
    def gharchive_raw(self) -> Path:
        """Hour files as published, in `YYYY/MM/DD/` folders, each with a metadata file beside it."""
        return self.home / "raw" / "gharchive"

    @property
    def social_evolution_raw(self) -> Path:
        """The unchanged Social Evolution source."""
        return self.home / "raw" / "social_evolution"

    @property
    def github_events(self) -> Path:
        """Normalized events, one `date=YYYY-MM-DD` folder per file day."""
        return self.home / "events" / "github"

    @property
    def github_quarantine(self) -> Path:
        """Unreadable input with the reason, one `date=YYYY-MM-DD` folder per file day."""
        return self.home / "quarantine" / "github"

    @property
    def github_accounts(self) -> Path:
        """Ledgers of event counts per hour file, one `date=YYYY-MM-DD.parquet` per file day."""
        return self.home / "accounts" / "github"

    @property
    def github_subnetwork(self) -> Path:
        """The accounts of the dense subnetwork, and the number of accounts each rule removed."""
        return self.home / "subnetwork" / "github"

    @property
    def own(self) -> Path:
        """The user's own datasets, one folder with a `dataset.toml` each."""
        return self.home / "own"

    @property
    def results(self) -> Path:
        """Result tables as Parquet, from which the warehouse is built."""
        return self.home / "results"

    @property
    def sessions(self) -> Path:
        """The record of headless runs on this home (pipeline.runs)."""
        return self.results / "run.json"

    @property
    def warehouse(self) -> Path:
        """The DuckDB database for queries."""
        return self.home / "warehouse.duckdb"

    @property
    def alerts(self) -> Path:
        """The log of alerts (pipeline.alerts), one per line."""
        return self.home / "alerts.log"

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.home / "report" / "index.html"

    @property
    def models(self) -> Path:
        """Trained variants, in `<dataset>/<variant>` folders."""
        return self.home / "models"

    @property
    def figures(self) -> Path:
        """The paper's figures, one folder per dataset."""
        return self.home / "figures"

    def github_day(self, day: date) -> Path:
        """Return the folder of a file day's normalized events."""
        return self.github_events / f"date={day.isoformat()}"

    def dataset(self, dataset: str) -> Path:
        """Return the folder of a dataset's event table."""
        return self.home / "datasets" / dataset

    def baselines(self, dataset: str) -> Path:
        """Return the path of a dataset's baseline results."""
        return self.dataset(dataset) / "baselines.parquet"

    def waiting_times(self, dataset: str) -> Path:
        """Return the folder of a dataset's waiting-time models and their scores."""
        return self.home / "waiting_times" / dataset

    def model(self, dataset: str, variant: str) -> Path:
        """Return the folder of a trained variant (all its seeds)."""
        return self.models / dataset / variant

    @property
    def following(self) -> Path:
        """The followed archive: accounts, events, models, forecasts and their scores."""
        return self.home / "following"

    def lock(self, *names: str) -> Path:
        """Return the path of a lock file, for instance `lock("days", "2013-02-15")`."""
        return self.home.joinpath("locks", *names[:-1], f"{names[-1]}.lock")

    def known_graph(self, dataset: str) -> Path:
        """Return the path of a ground-truth graph (source, target), used to evaluate and never to train."""
        return self.home / "known_graphs" / f"{dataset}.parquet"


def temporary_name(path: Path) -> Path:
    """Return a hidden sibling of `path` that only this process writes, named after process and machine."""
    return path.with_name(f".{path.name}{own_suffix()}")


def own_suffix() -> str:
    """Return the suffix of this process's temporary files."""
    return f".{os.getpid()}@{MACHINE}.tmp"


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary sibling of `path`; on success, fsync and rename it to `path`, else delete it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Generator[Path]:
    """Yield a temporary sibling of `folder`; on success rename it to `folder`, else delete it.

    Raise FileExistsError if `folder` is a file or not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already; give the name of a new or empty folder")
    temporary = temporary_name(folder)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


# Process and machine in a temporary name, see own_suffix; `.wal` is DuckDB's log.
# Earlier versions wrote names without a machine.
LEFT_BEHIND = re.compile(r"\..*\.(?P<process>\d+)(@(?P<machine>[\w-]+))?\.tmp(\.wal)?")
LONGEST_WRITE = 24 * 3600.0  # seconds after which an unchanged temporary file of another machine is orphaned


def sweep(folder: Path) -> None:
    """Delete temporary files and folders below `folder` that killed processes left behind."""
    for path in folder.rglob(".*.tmp*"):
        owner = LEFT_BEHIND.fullmatch(path.name)
        if owner is None or is_being_written(path, int(owner["process"]), owner["machine"]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def is_being_written(path: Path, process: int, machine: str | None) -> bool:
    """Return True if the process may still be writing `path`; on another machine, judge by file age."""
    if machine in {None, MACHINE}:
        return is_alive(process)
    try:
        return time.time() - path.stat().st_mtime < LONGEST_WRITE
    except FileNotFoundError:
        return True


def is_alive(process: int) -> bool:
    """Return True if a process with this id exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` as Parquet, atomically."""
    with replacing(path) as temporary:
        frame.write_parquet(temporary)


def scan_parquet(path: Path) -> pl.LazyFrame:
    """Scan the Parquet file at `path` lazily, without glob patterns or Hive partition columns."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def read_parquet(path: Path) -> pl.DataFrame:
    """Read the Parquet file at `path`, without glob patterns or Hive partition columns."""
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def write_text(text: str, path: Path) -> None:
    """Write `text` as UTF-8, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(value: Any, path: Path) -> None:  # noqa: ANN401 - JSON is any value
    """Write `value` as indented JSON with sorted keys, atomically."""
    write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", path)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def paths_within(lake: Lake, paths: Iterable[Path]) -> list[Path]:
    """Make paths below the home relative to it, the same on every machine; leave other paths unchanged."""
    return [path.relative_to(lake.home) if path.is_relative_to(lake.home) else path for path in paths]
