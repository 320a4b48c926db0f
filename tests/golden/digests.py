"""Digests of everything that a home holds, without times, commits and places."""

import hashlib
import io
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from safetensors import safe_open

# State of the machinery that no user reads: it may change while every result stays.
INTERNAL = ("raw", "locks", "dagster", "sample_world", "own")
NOTES = ("results/run.json", "results/digests.json")  # of runs and code, not of results
VOLATILE = {
    "commit",
    "ended",
    "ended_at",
    "fetched_at",
    "finished_at",
    "made_at",
    "seconds",
    "started",
    "started_at",
    "training_seconds",
    "trained_at",
}
DATED = re.compile(r"\d{4}-\d\d-\d\d(-\d+)?|(?<=/)\d\d(?=\.parquet)")
LENGTH = 16


def digest_home(home: Path) -> dict[str, str]:
    """Map each group of files (dates in their names are one group) and each warehouse table to its digest."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if name in NOTES or name.partition("/")[0] in INTERNAL:
            continue
        if path.suffix in READERS and path.is_file():
            groups[DATED.sub("*", name)].append(f"{name} {READERS[path.suffix](path)}")
    digests = {name: sha256("\n".join(lines).encode()) for name, lines in groups.items()}
    return digests | digest_warehouse(home / "warehouse.duckdb")


def digest_warehouse(path: Path) -> dict[str, str]:
    """Map every table and view of a warehouse to the digest of its sorted rows."""
    digests = {}
    with duckdb.connect(str(path), read_only=True) as warehouse:
        names = warehouse.sql("select table_name from information_schema.tables order by 1").fetchall()
        for (name,) in names:
            columns = [column for column in warehouse.table(name).columns if column not in VOLATILE]
            listed = ", ".join(f'"{column}"' for column in columns)
            rows = warehouse.sql(f'select {listed} from "{name}" order by all').fetchall()
            digests[f"warehouse: {name}"] = sha256(repr((columns, rows)).encode())
    return digests


def digest_parquet(path: Path) -> str:
    """Digest the rows and column types of a Parquet file."""
    frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    frame = frame.drop([name for name in frame.columns if name in VOLATILE])
    buffer = io.BytesIO()
    frame.rechunk().write_ipc(buffer, compression="uncompressed")
    return sha256(buffer.getvalue())


def digest_json(path: Path) -> str:
    """Digest a JSON file without what differs from run to run."""
    return sha256(json.dumps(stable(json.loads(path.read_text())), sort_keys=True).encode())


def digest_safetensors(path: Path) -> str:
    """Digest all tensors by name, type, shape and bytes, and the metadata."""
    lines = []
    with safe_open(path, framework="numpy") as file:
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            lines.append(f"{name} {tensor.dtype} {tensor.shape} {sha256(tensor.tobytes())}")
    return sha256("\n".join(lines).encode())


def stable(value: Any) -> Any:
    """Leave out the entries of JSON that differ from run to run."""
    if isinstance(value, dict):
        return {name: stable(part) for name, part in value.items() if name not in VOLATILE}
    return [stable(part) for part in value] if isinstance(value, list) else value


def sha256(data: bytes) -> str:
    """Hash bytes to a short hexadecimal digest."""
    return hashlib.sha256(data).hexdigest()[:LENGTH]


READERS = {".parquet": digest_parquet, ".json": digest_json, ".safetensors": digest_safetensors}
