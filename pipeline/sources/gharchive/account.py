"""A day's account, one row per hour file: where it is, and how everyone reads it.

It is made anew with its day. One that cannot be read counts as absent: until then, what it would say is
missing, and nothing else.
"""

from datetime import date
from pathlib import Path

import polars as pl

from pipeline.lake import Lake, read_parquet


def account_path(lake: Lake, day: date) -> Path:
    """Where a day's account is."""
    return lake.github_accounts / f"date={day.isoformat()}.parquet"


def gone_path(lake: Lake, day: date) -> Path:
    """Where the names of hours are, one per line, for want of which a day was not read again."""
    return lake.github_accounts / f".date={day.isoformat()}.gone"


def read_account(path: Path) -> pl.DataFrame | None:
    """The account at `path`; None if there is none, or none that can be read."""
    try:
        return read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        return None


def unreadable(path: Path) -> str:
    """What to say of an account that is there and cannot be read."""
    return f"{path.parent.name}/{path.name} cannot be read: materialize github_events of its day again"
