"""Times of one's own events: read exactly, or refused with the row; never wrapped, never a panic."""

import re
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Literal, get_args
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.own.times import EARLIEST, LATEST, UNIX_UNITS, TimesError, moments

EPOCH = datetime(1970, 1, 1)
INT64 = (
    st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**11), 10**11) | st.sampled_from([-(2**63), 2**63 - 1])
)
Unit = Literal["ms", "us", "ns"]
UNITS = st.sampled_from((None, *get_args(Unit)))
ZONES = st.sampled_from(["UTC", "Europe/Vienna", "America/St_Johns", "Pacific/Kiritimati", "Asia/Kathmandu"])
FORMATS = st.sampled_from(
    [None, *UNIX_UNITS, "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S %z", "%H:%M", "%s", "%+", "%", "%Q", "%%z", "no"]
)
TEXTS = st.text(max_size=30) | st.from_regex(
    r"[+-]?\d{1,6}-\d{1,2}-\d{1,2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?", fullmatch=True
)


def attempt(column: pl.Series, time_format: str | None, zone: str) -> pl.Series | TimesError:
    try:
        return moments(column, time_format, zone)
    except TimesError as error:
        return error


def within(moment: datetime) -> bool:
    return EARLIEST <= moment < LATEST


def columns() -> st.SearchStrategy[pl.Series]:
    """Columns of any type that a file may hold as its times."""

    def of(values: st.SearchStrategy, dtype: pl.DataType | type[pl.DataType]) -> st.SearchStrategy[pl.Series]:
        return st.lists(st.none() | values, min_size=1, max_size=4).map(
            lambda rows: pl.Series("time", rows, dtype)
        )

    def kept_as(numbers: st.SearchStrategy[pl.Series], dtype: pl.DataType) -> st.SearchStrategy[pl.Series]:
        return numbers.map(lambda rows: rows.cast(dtype))

    whole = of(INT64, pl.Int64)
    days = of(st.integers(-(2**31), 2**31 - 1), pl.Int32)
    kept_as_numbers = [
        *(
            kept_as(whole, pl.Datetime(unit, zone))
            for unit in ("ms", "us", "ns")
            for zone in (None, "UTC", "Asia/Tokyo")
        ),
        *(kept_as(whole, pl.Duration(unit)) for unit in ("ms", "us", "ns")),
        kept_as(days, pl.Date()),
    ]
    return st.one_of(
        whole,
        days,
        of(st.integers(0, 2**64 - 1), pl.UInt64),
        of(st.floats(), pl.Float64),
        of(st.floats(width=32), pl.Float32),
        of(TEXTS, pl.String),
        of(st.booleans(), pl.Boolean),
        of(st.binary(max_size=9), pl.Binary),
        of(st.times(), pl.Time),
        of(st.decimals(-(10**15), 10**15, places=3), pl.Decimal(38, 3)),
        *kept_as_numbers,
    )


@settings(max_examples=100)
@given(columns(), FORMATS, ZONES)
def test_any_column_gives_times_within_the_known_years_or_an_error(
    column: pl.Series, time_format: str | None, zone: str
) -> None:
    read = attempt(column, time_format, zone)
    if isinstance(read, TimesError):
        assert "\n" not in str(read)
        assert read.row is None or read.row < len(column)
    else:
        assert read.dtype == pl.Datetime("us")
        assert len(read) == len(column)
        assert all(within(moment) for moment in read)


@settings(max_examples=60)
@given(INT64, st.sampled_from(list(UNIX_UNITS)))
def test_a_number_is_its_moment_exactly_or_refused(number: int, unit: str) -> None:
    microseconds = Fraction(number * 1_000_000, UNIX_UNITS[unit])
    first, end = ((limit - EPOCH) // timedelta(microseconds=1) for limit in (EARLIEST, LATEST))
    possible = first <= microseconds < end
    read = attempt(pl.Series("time", [number]), unit, "Europe/Vienna")
    if isinstance(read, TimesError):
        assert not possible
        assert str(number) in str(read)
    else:
        assert read.to_list() == [EPOCH + timedelta(microseconds=int(microseconds))]


@settings(max_examples=60)
@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2037, 1, 1)),
    ZONES,
    UNITS,
)
def test_a_wall_clock_time_is_what_pythons_zones_say(moment: datetime, zone: str, unit: Unit | None) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    there = moment.replace(tzinfo=ZoneInfo(zone))
    skipped = there.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) != moment
    column = pl.Series("time", [moment], pl.Datetime(unit)) if unit else pl.Series("time", [str(moment)])
    if skipped:
        with pytest.raises(TimesError):
            moments(column, None, zone)
    else:
        assert moments(column, None, zone).to_list() == [there.astimezone(UTC).replace(tzinfo=None)]


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 10**17])
@pytest.mark.parametrize("time_format", list(UNIX_UNITS))
def test_numbers_beyond_the_years_are_refused_by_row(time_format: str, number: int) -> None:
    with pytest.raises(TimesError, match=f"is {number}, not a time in .*the years 1000 to 2999") as error:
        moments(pl.Series("time", [0, number]), time_format, "Europe/Vienna")
    assert error.value.row == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 1e300])
def test_numbers_that_are_no_moment_are_refused_by_row(number: float) -> None:
    with pytest.raises(TimesError, match=re.escape(f"is {number},")) as error:
        moments(pl.Series("time", [1.5, 2.0, number]), "unix_s", "UTC")
    assert error.value.row == 2


@pytest.mark.parametrize(
    "column",
    [pl.Series("time", [time(12)]), pl.Series("time", [timedelta(1)]), pl.Series("time", [True])],
)
def test_columns_without_a_day_are_refused_as_a_whole(column: pl.Series) -> None:
    with pytest.raises(TimesError, match=re.escape(f"is a column of {column.dtype};")):
        moments(column, None, "UTC")


def test_a_day_is_no_number_of_seconds() -> None:
    with pytest.raises(TimesError, match="is a column of Date; with the time_format unix_s it takes numbers"):
        moments(pl.Series("time", [date(2024, 1, 1)]), "unix_s", "UTC")


@pytest.mark.parametrize("year", ["0001", "0999", "3000", "9999", "+12345", "+262142"])
def test_texts_beyond_the_years_are_refused(year: str) -> None:
    with pytest.raises(TimesError, match="the years 1000 to 2999"):
        moments(pl.Series("time", [f"{year}-06-01 00:00:00"]), None, "Europe/Vienna")


def test_a_format_without_a_day_is_refused() -> None:
    with pytest.raises(TimesError, match="not a time in the time_format '%H:%M'"):
        moments(pl.Series("time", ["12:30"]), "%H:%M", "UTC")


@pytest.mark.parametrize("offset", ["%z", "%:z", "%#z"])
def test_an_offset_in_the_text_goes_before_the_zone(offset: str) -> None:
    column = pl.Series("time", ["2012-01-01 00:00 +01:00"])
    assert moments(column, f"%Y-%m-%d %H:%M {offset}", "Asia/Tokyo").to_list() == [datetime(2011, 12, 31, 23)]
