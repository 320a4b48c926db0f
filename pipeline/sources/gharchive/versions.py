"""The version of days of the archive: another one if and only if what was read of them is another."""

import hashlib
from datetime import date, timedelta

from pipeline.lake import Lake
from pipeline.sources.gharchive.account import account_path, read_account


def version_of_days(lake: Lake, first: date, last: date) -> str:
    """The version of the days from `first` to `last` as they were read, whenever they were fetched."""
    digest = hashlib.sha256()
    for number in range((last - first).days + 1):
        account = read_account(account_path(lake, first + timedelta(days=number)))
        if account is not None:
            digest.update(repr(account.drop("fetched_at").rows()).encode())
    return digest.hexdigest()
