"""Times of a user's own events: texts, numbers and Parquet's own times as naive UTC, within `YEARS`."""

import re
from datetime import UTC, datetime

import polars as pl

EARLIEST, LATEST = datetime(1000, 1, 1), datetime(3000, 1, 1)
YEARS = f"the years {EARLIEST.year} to {LATEST.year - 1}"
# Units per second.
UNIX_UNITS: dict[str, int] = {"unix_s": 1, "unix_ms": 1_000, "unix_us": 1_000_000}
UNITS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# A format directive that parses an offset from UTC.
OFFSET = re.compile(r"%(?:[:#]*z|\+)")
DAY = 86_400


class TimesError(ValueError):
    """Times cannot be read; `row` is the first that cannot, or None if the column as a whole cannot."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


def moments(times: pl.Series, time_format: str | None, time_zone: str) -> pl.Series:
    """Return `times` as naive UTC; those without an offset are wall-clock times of `time_zone`."""
    try:
        parsed = (
            times.to_frame("time").select(time_expression(times.dtype, time_format, time_zone)).to_series()
        )
    except pl.exceptions.PolarsError as error:
        raise TimesError(f"cannot be read as times: {str(error).partition(chr(10))[0]}") from error
    if parsed.null_count():
        row = int(parsed.is_null().arg_max() or 0)
        fits = f"the time_format {time_format!r}" if time_format else "ISO 8601 (2013-09-01 12:00:00)"
        raise TimesError(
            f"is {value_in_message(times, row)}, not a time in {fits} in zone {time_zone} and {YEARS}", row
        )
    return parsed


def value_in_message(times: pl.Series, row: int) -> str:
    """Return a value of a column of times for a message; temporal values show as their number."""
    value = times.slice(row, 1)
    return repr(value.to_physical().item() if value.dtype.is_temporal() else value.item())


def time_expression(dtype: pl.DataType, time_format: str | None, time_zone: str) -> pl.Expr:
    """Return an expression that parses a column `time` of this type; times not within `YEARS` become null."""
    column = pl.col("time")
    if time_format in UNIX_UNITS:
        if not (dtype.is_numeric() or dtype == pl.String):
            raise TimesError(f"is a column of {dtype}; with the time_format {time_format} it takes numbers")
        exact = not (dtype.is_float() or dtype.is_decimal())
        numbers = column.cast(pl.Int64 if exact else pl.Float64, strict=False)
        return since_1970(numbers, UNIX_UNITS[time_format])
    if isinstance(dtype, pl.Datetime):
        times = since_1970(column.to_physical(), UNITS[dtype.time_unit])
        return times if dtype.time_zone is not None else localized(times, time_zone)
    if dtype == pl.Date:
        return localized(since_1970(column.to_physical().cast(pl.Int64) * DAY, 1), time_zone)
    if dtype.is_numeric():
        raise TimesError(f"is a column of {dtype}; for numbers time_format takes {', '.join(UNIX_UNITS)}")
    if dtype != pl.String:
        raise TimesError(f"is a column of {dtype}; it takes texts, numbers, or days with or without a time")
    text = column.str.strip_chars()
    if time_format is not None and OFFSET.search(time_format):
        return bounded(text.str.to_datetime(time_format, strict=False, time_unit="us", time_zone="UTC"))
    if time_format is not None:
        return localized(bounded(text.str.to_datetime(time_format, strict=False, time_unit="us")), time_zone)
    iso = text.str.replace("T", " ", literal=True).str.replace(r"[Zz]$", "+00:00")
    with_offset = iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_unit="us", time_zone="UTC")
    without = pl.coalesce(
        iso.str.to_datetime(form, strict=False, time_unit="us", exact=True)
        for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
    )
    return pl.coalesce(bounded(with_offset), localized(bounded(without), time_zone))


def since_1970(numbers: pl.Expr, per_second: int) -> pl.Expr:
    """Convert numbers since 1970 to times, null outside `YEARS`; the check before scaling avoids overflow."""
    first, end = (int(limit.replace(tzinfo=UTC).timestamp()) * per_second for limit in (EARLIEST, LATEST))
    possible = pl.when((numbers >= first) & (numbers < end)).then(numbers)
    microseconds = possible * (1_000_000 // per_second) if per_second <= 1_000_000 else possible // 1_000
    return microseconds.cast(pl.Int64).cast(pl.Datetime("us"))


def bounded(times: pl.Expr) -> pl.Expr:
    """Convert times in microseconds, naive or with a zone, to naive UTC; null outside `YEARS`."""
    return since_1970(times.to_physical(), 1_000_000)


def localized(times: pl.Expr, zone: str) -> pl.Expr:
    """Convert wall-clock times of `zone` to naive UTC; a repeated hour is its first, a skipped one null."""
    return bounded(times.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null"))
