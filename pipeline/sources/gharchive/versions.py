"""Content hash of archive days, used as their data version."""

import hashlib
from datetime import date, timedelta

from pipeline.lake import Lake
from pipeline.sources.gharchive.account import account_path, read_account


def version_of_days(lake: Lake, first: date, last: date) -> str:
    """Return the SHA-256 of the ledgers of the days from `first` to `last`, without fetch times."""
    digest = hashlib.sha256()
    for number in range((last - first).days + 1):
        account = read_account(account_path(lake, first + timedelta(days=number)))
        if account is not None:
            digest.update(repr(account.drop("fetched_at").rows()).encode())
    return digest.hexdigest()
