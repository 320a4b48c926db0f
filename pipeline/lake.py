"""The lake: where every file is kept under one home, and how files are written whole or not at all."""

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
    """This machine among those that share a home, as it stands in names of files.

    A container may have its host's name and numbers of processes of its own: it is a machine for itself.
    """
    name = re.sub(r"[^\w-]", "-", socket.gethostname(), flags=re.ASCII)
    numbering = Path("/proc/self/ns/pid")
    return f"{name}-{numbering.stat().st_ino}" if numbering.exists() else name


MACHINE = machine_name()
WAITS_FACTS = "waiting_times.json"  # in the folder of what was learned of waiting times, and written last


@dataclass(frozen=True)
class Lake:
    """The folders below `$LDG_HOME`. Paths only: nothing here reads, writes or creates."""

    home: Path
    storage: str = ""  # where what is finished is shared, for instance s3://bucket/prefix (pipeline.storage)

    def __post_init__(self) -> None:
        # At ? or \ DuckDB writes its log elsewhere; the address of Dagster's SQLite ends at ? and decodes %.
        if refused := sorted(set(str(self.home.absolute())) & set("?%\\")):
            raise ValueError(
                f"the home {self.home.absolute()} has {' and '.join(refused)} in its path, which databases "
                "read as something else: set LDG_HOME to a folder without"
            )

    @property
    def gharchive_raw(self) -> Path:
        """Hour files as published, in `YYYY/MM/DD/` folders, each with a note on it beside it."""
        return self.home / "raw" / "gharchive"

    @property
    def social_evolution_raw(self) -> Path:
        """The Social Evolution source as it was given."""
        return self.home / "raw" / "social_evolution"

    @property
    def github_events(self) -> Path:
        """Normalized events, one `date=YYYY-MM-DD` folder per file day."""
        return self.home / "events" / "github"

    @property
    def github_quarantine(self) -> Path:
        """What could not be read as an event, with the reason, one `date=YYYY-MM-DD` folder per file day."""
        return self.home / "quarantine" / "github"

    @property
    def github_accounts(self) -> Path:
        """One `date=YYYY-MM-DD.parquet` per file day: for each hour file, where its events went."""
        return self.home / "accounts" / "github"

    @property
    def github_subnetwork(self) -> Path:
        """Which accounts form the dense subnetwork, and how many accounts each rule removed."""
        return self.home / "subnetwork" / "github"

    @property
    def own(self) -> Path:
        """The user's own datasets, one folder with a `dataset.toml` each."""
        return self.home / "own"

    @property
    def results(self) -> Path:
        """Result tables as Parquet: the truth behind the warehouse."""
        return self.home / "results"

    @property
    def sessions(self) -> Path:
        """What headless runs did on this home, and on what machine."""
        return self.results / "run.json"

    @property
    def warehouse(self) -> Path:
        """The DuckDB window onto everything."""
        return self.home / "warehouse.duckdb"

    @property
    def alerts(self) -> Path:
        """One line per run that failed."""
        return self.home / "alerts.log"

    @property
    def report(self) -> Path:
        """The report a person looks at."""
        return self.home / "report" / "index.html"

    @property
    def models(self) -> Path:
        """Every trained variant, in `<dataset>/<variant>` folders."""
        return self.home / "models"

    @property
    def figures(self) -> Path:
        """The paper's figures, in a folder per dataset."""
        return self.home / "figures"

    def github_day(self, day: date) -> Path:
        """Folder of one file day's normalized events."""
        return self.github_events / f"date={day.isoformat()}"

    def dataset(self, dataset: str) -> Path:
        """Folder of one dataset's event table."""
        return self.home / "datasets" / dataset

    def baselines(self, dataset: str) -> Path:
        """What predictors that learn nothing reach on a dataset."""
        return self.dataset(dataset) / "baselines.parquet"

    def waiting_times(self, dataset: str) -> Path:
        """What was learned of when nodes and pairs of a dataset have their next event, and its scores."""
        return self.home / "waiting_times" / dataset

    def model(self, dataset: str, variant: str) -> Path:
        """Folder of everything kept of one trained variant (all its seeds)."""
        return self.models / dataset / variant

    @property
    def following(self) -> Path:
        """Everything kept of the followed archive: who, what they did, models, forecasts and their scores."""
        return self.home / "following"

    def lock(self, *names: str) -> Path:
        """What a process locks while it makes something: `lock("days", "2013-02-15")`, for instance."""
        return self.home.joinpath("locks", *names[:-1], f"{names[-1]}.lock")

    def known_graph(self, dataset: str) -> Path:
        """A graph to hold the learned one against, never an input to training (columns source, target)."""
        return self.home / "known_graphs" / f"{dataset}.parquet"


def temporary_name(path: Path) -> Path:
    """The sibling of `path` that this process alone writes: its name tells the machine and the process."""
    return path.with_name(f".{path.name}{own_suffix()}")


def own_suffix() -> str:
    """How the names of files end that this process is writing."""
    return f".{os.getpid()}@{MACHINE}.tmp"


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary sibling of `path`; on success it takes `path`'s place, on failure it vanishes."""
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
    """Yield a temporary sibling of `folder`; on success it becomes `folder`, on failure it vanishes.

    A folder that holds something is refused, never replaced.
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


# The process and its machine in a name; DuckDB adds a log of its own.
# Names without a machine are of earlier versions.
LEFT_BEHIND = re.compile(r"\..*\.(?P<process>\d+)(@(?P<machine>[\w-]+))?\.tmp(\.wal)?")
LONGEST_WRITE = 24 * 3600.0  # seconds: what another machine has not touched for so long, it has left behind


def sweep(folder: Path) -> None:
    """Remove what killed processes left behind below `folder` under temporary names."""
    for path in folder.rglob(".*.tmp*"):
        owner = LEFT_BEHIND.fullmatch(path.name)
        if owner is None or is_being_written(path, int(owner["process"]), owner["machine"]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def is_being_written(path: Path, process: int, machine: str | None) -> bool:
    """Whether the process may still be at work on `path`; of another machine's, only its age tells."""
    if machine in {None, MACHINE}:
        return is_alive(process)
    try:
        return time.time() - path.stat().st_mtime < LONGEST_WRITE
    except FileNotFoundError:
        return True


def is_alive(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write `frame` as Parquet, whole or not at all."""
    with replacing(path) as temporary:
        frame.write_parquet(temporary)


def scan_parquet(path: Path) -> pl.LazyFrame:
    """The Parquet file at `path`, read when asked for: the path is no pattern, its folders are no columns."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def read_parquet(path: Path) -> pl.DataFrame:
    """The Parquet file at `path`: the path is no pattern, its folders are no columns."""
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def write_text(text: str, path: Path) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(value: Any, path: Path) -> None:  # noqa: ANN401 - JSON is any value
    """Write `value` as readable JSON, whole or not at all."""
    write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", path)


def file_sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def paths_within(lake: Lake, paths: Iterable[Path]) -> list[Path]:
    """Paths below the home as they are on every machine: relative to it."""
    return [path.relative_to(lake.home) if path.is_relative_to(lake.home) else path for path in paths]
