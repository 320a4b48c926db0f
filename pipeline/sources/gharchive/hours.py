"""The archive's hours: address, file names, existence, and when a missing one is final."""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ARCHIVE = "https://data.gharchive.org"
FIRST_DAY = date(2011, 2, 12)  # of the archive
PACIFIC = ZoneInfo("America/Los_Angeles")
PACIFIC_DAYS = (date(2012, 3, 11), date(2014, 12, 31))
SETTLED_AFTER = timedelta(hours=12)
HOUR_FILE = re.compile(r"(\d{4}-\d\d-\d\d)-\d{1,2}\.json\.gz")  # group 1: the day


def file_name(day: date, hour: int) -> str:
    """Return the name of an hour's file, without zero-padding: the archive refuses padded hours."""
    return f"{day.isoformat()}-{hour}.json.gz"


def _named_in_pacific_time(day: date) -> bool:
    return PACIFIC_DAYS[0] <= day <= PACIFIC_DAYS[1]


def exists(day: date, hour: int) -> bool:
    """Return whether the hour exists: clocks that jump forward skip one hour of a Pacific-named day."""
    if not _named_in_pacific_time(day):
        return True
    wall = datetime.combine(day, time(hour))
    there_and_back = wall.replace(tzinfo=PACIFIC).astimezone(UTC).astimezone(PACIFIC)
    return there_and_back.replace(tzinfo=None) == wall


def hours_of_day(day: date) -> list[int]:
    """Return the hours of a day that exist in the archive: 24, or 23 on a day that skips one."""
    return [hour for hour in range(24) if exists(day, hour)]


def end_of_hour(day: date, hour: int) -> datetime:
    """Return the end of an hour as an aware UTC time; of an hour that clocks repeat, its second end."""
    zone = PACIFIC if _named_in_pacific_time(day) else UTC
    begin = datetime.combine(day, time(hour), tzinfo=zone).replace(fold=1)
    return begin.astimezone(UTC) + timedelta(hours=1)


def is_settled(day: date, hour: int, now: datetime) -> bool:
    """Return whether a file absent at `now` (aware) is final: half a day after the hour's end."""
    return now - end_of_hour(day, hour) >= SETTLED_AFTER
