"""Checks of a day's tables, as functions of frames."""

from collections.abc import Mapping

import polars as pl

from pipeline.lake import Lake
from pipeline.names import KINDS
from pipeline.schemas import GHARCHIVE_FILES
from pipeline.sources.gharchive.account import read_account, unreadable
from pipeline.sources.gharchive.reading import EVENT_SCHEMA, QUARANTINE_SCHEMA

LARGEST_QUARANTINED_SHARE = 0.01  # of the events of a run's days


def unbalanced_files(account: pl.DataFrame) -> list[str]:
    """Return the files whose events are not all kept, ignored, duplicates or quarantined."""
    parts = pl.sum_horizontal("kept", "ignored", "duplicates", "quarantined")
    return account.filter(pl.col("events") != parts)["file"].to_list()


def quarantined_share(account: pl.DataFrame) -> float:
    """Return the share of a day's events that are quarantined; 0.0 without events."""
    events = int(account["events"].sum())
    return int(account["quarantined"].sum()) / events if events else 0.0


def schema_faults(frame: pl.DataFrame, schema: Mapping[str, pl.DataType | type[pl.DataType]]) -> list[str]:
    """Return the deviations of a table's columns from `schema`; empty if there are none."""
    faults = [f"{name} is missing" for name in schema if name not in frame.columns]
    faults += [f"{name} is not promised" for name in frame.columns if name not in schema]
    faults += [
        f"{name} is {frame.schema[name]}, not {dtype}"
        for name, dtype in schema.items()
        if name in frame.columns and frame.schema[name] != dtype
    ]
    return faults


def event_faults(events: pl.DataFrame) -> list[str]:
    """Return the faults of a table of normalized events: columns, kinds, nulls or self-interactions."""
    faults = schema_faults(events, EVENT_SCHEMA)
    if faults:
        return faults
    for name in ("event_id", "type", "kind", "actor", "counterpart", "created_at", "file"):
        if gaps := events[name].null_count():
            faults.append(f"{name} is null in {gaps:,} rows")
    if strange := sorted(set(events["kind"].unique().drop_nulls()) - set(KINDS)):
        faults.append(f"kind has {strange}")
    lower = pl.col("actor").str.to_lowercase() == pl.col("counterpart").str.to_lowercase()
    if selves := events.filter(lower).height:
        faults.append(f"{selves:,} rows are self-interactions")
    return faults


def failed_hours(lake: Lake) -> list[str]:
    """Return the hour files of all days of a lake that must still be fetched, then the lost ones, in order.

    Lost hours are those without which a day cannot be read again. A day whose ledger is unreadable is
    represented by a message about the ledger.
    """
    failed: list[str] = []
    for path in sorted(lake.github_accounts.glob("date=*.parquet")):
        account = read_account(path)
        if account is None:
            failed.append(unreadable(path))
        else:
            failed += account.filter(pl.col("status") == "failed")["file"].to_list()
    for path in sorted(lake.github_accounts.glob(".date=*.gone")):
        failed += [name for name in path.read_text(encoding="utf-8").splitlines() if name not in failed]
    return failed


def quarantine_faults(quarantine: pl.DataFrame) -> list[str]:
    """Return the faults of a quarantine table's columns."""
    return schema_faults(quarantine, QUARANTINE_SCHEMA)


def account_faults(account: pl.DataFrame) -> list[str]:
    """Return the faults of a ledger's columns or statuses."""
    faults = schema_faults(account, GHARCHIVE_FILES.types)
    if not faults and (strange := sorted(set(account["status"]) - {"ok", "missing", "damaged", "failed"})):
        faults.append(f"status has {strange}")
    return faults
