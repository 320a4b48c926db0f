"""The time that decides what is due: read in one place, where a test puts its own clock."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, as an aware UTC time."""
    return datetime.now(UTC)
