"""The version of days of the archive: another one if and only if what was read of them is another."""

import hashlib
from datetime import date, timedelta

from pipeline.lake import Lake, read_parquet
from pipeline.sources.gharchive.day import account_path


def version_of_days(lake: Lake, first: date, last: date) -> str:
    """The version of the days from `first` to `last` as they were read, whenever they were fetched."""
    digest = hashlib.sha256()
    for number in range((last - first).days + 1):
        path = account_path(lake, first + timedelta(days=number))
        if path.exists():
            digest.update(repr(read_parquet(path).drop("fetched_at").rows()).encode())
    return digest.hexdigest()
