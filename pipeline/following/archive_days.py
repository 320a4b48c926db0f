"""What the lake holds of an archive day: whether it was read, and a token that changes with it."""

from datetime import date

from pipeline.following.digest import digest_of_rows
from pipeline.lake import Lake, read_parquet
from pipeline.sources.gharchive.day import account_path

TOLD = ("file", "status", "bytes", "etag", "events", "kept", "ignored", "duplicates", "quarantined")


def was_read(lake: Lake, day: date) -> bool:
    """Whether the day's events are in the lake, as far as they were to be had."""
    return account_path(lake, day).exists()


def token_of(lake: Lake, day: date) -> str:
    """What tells a day's events apart from those of an earlier reading; of a day not read, nothing."""
    path = account_path(lake, day)
    return digest_of_rows(read_parquet(path).select(TOLD)) if path.exists() else ""
