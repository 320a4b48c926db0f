"""The clock that decides what is due; tests replace it here."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)
