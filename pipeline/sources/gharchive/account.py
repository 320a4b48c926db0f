"""The ledger ("account") of a day, one row per hour file: its path and its reader.

The ledger is rewritten whenever its day is read. An unreadable ledger is treated as missing.
"""

from datetime import date
from pathlib import Path

import polars as pl

from pipeline.lake import Lake, read_parquet


def account_path(lake: Lake, day: date) -> Path:
    """Return the path of a day's ledger."""
    return lake.github_accounts / f"date={day.isoformat()}.parquet"


def gone_path(lake: Lake, day: date) -> Path:
    """Return the path of the list of lost hours, one name per line, that kept a day from being read again."""
    return lake.github_accounts / f".date={day.isoformat()}.gone"


def read_account(path: Path) -> pl.DataFrame | None:
    """Read the ledger at `path`; None if it is absent or unreadable."""
    try:
        return read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        return None


def unreadable(path: Path) -> str:
    """Return the message about a ledger that exists but cannot be read."""
    return f"{path.parent.name}/{path.name} cannot be read: materialize github_events of its day again"
