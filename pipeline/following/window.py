"""Days of the archive: the newest complete one, windows of days, the bounds of a day."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pipeline.sources.gharchive.hours import end_of_hour, hours_of_day

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Window:
    """File days from `first` to `last`, both inclusive."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"first {self.first} is after last {self.last}")

    def __iter__(self) -> Iterator[date]:
        return (self.first + number * DAY for number in range(len(self)))

    def __len__(self) -> int:
        return (self.last - self.first).days + 1


def newest_complete_day(now: datetime | None = None) -> date:
    """Return the day before today (UTC); `now` replaces the current time, a naive one is UTC."""
    now = now or datetime.now(UTC)
    return (now if now.tzinfo is None else now.astimezone(UTC)).date() - DAY


def window_until(last: date, days: int) -> Window:
    """Return the `days` days that end with `last`."""
    return Window(last - (days - 1) * DAY, last)


def file_day_span(day: date) -> tuple[datetime, datetime]:
    """Return the start and the end of a file day, as naive UTC times."""
    hours = hours_of_day(day)
    begin = end_of_hour(day - DAY, hours_of_day(day - DAY)[-1])
    return begin.replace(tzinfo=None), end_of_hour(day, hours[-1]).replace(tzinfo=None)


def end_of(day: date) -> datetime:
    """Return the end of a file day, the `as_of` of a forecast made then."""
    return file_day_span(day)[1]
