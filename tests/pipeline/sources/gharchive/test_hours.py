from datetime import UTC, date, datetime, timedelta

import pytest

from pipeline.sources.gharchive.hours import (
    end_of_hour,
    exists,
    file_name,
    hours_of_day,
    is_settled,
)


def test_the_hour_in_a_file_name_is_not_padded():
    assert file_name(date(2015, 1, 1), 9) == "2015-01-01-9.json.gz"
    assert file_name(date(2015, 1, 1), 23) == "2015-01-01-23.json.gz"


@pytest.mark.parametrize("day", [date(2012, 3, 11), date(2013, 3, 10), date(2014, 3, 9)])
def test_pacific_named_years_skip_one_hour_in_spring(day):
    assert hours_of_day(day) == [hour for hour in range(24) if hour != 2]


@pytest.mark.parametrize("day", [date(2011, 3, 13), date(2015, 3, 8), date(2013, 11, 3), date(2012, 3, 12)])
def test_every_other_day_has_all_its_hours(day):
    assert hours_of_day(day) == list(range(24))
    assert exists(day, 2)


def test_pacific_named_hours_end_when_pacific_clocks_say():
    assert end_of_hour(date(2013, 2, 15), 0) == datetime(2013, 2, 15, 9, tzinfo=UTC)
    assert end_of_hour(date(2013, 7, 15), 0) == datetime(2013, 7, 15, 8, tzinfo=UTC)
    assert end_of_hour(date(2015, 1, 1), 0) == datetime(2015, 1, 1, 1, tzinfo=UTC)


def test_an_hour_is_settled_half_a_day_after_its_end():
    end = end_of_hour(date(2020, 5, 5), 3)
    assert not is_settled(date(2020, 5, 5), 3, end + timedelta(hours=11, minutes=59))
    assert is_settled(date(2020, 5, 5), 3, end + timedelta(hours=12))
