"""The time by which it is judged what is due: asked for in one place, where a test puts its own clock."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, as an aware UTC time."""
    return datetime.now(UTC)
