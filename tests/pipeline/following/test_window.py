"""Days as the archive names them."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from pipeline.following.window import (
    DAY,
    Window,
    end_of,
    file_day_span,
    newest_complete_day,
    window_until,
)


def test_the_newest_complete_day_is_yesterday_in_utc() -> None:
    assert newest_complete_day(datetime(2026, 6, 2, 0, 10)) == date(2026, 6, 1)
    late_in_tokyo = datetime(2026, 6, 2, 3, tzinfo=timezone(timedelta(hours=9)))
    assert newest_complete_day(late_in_tokyo) == date(2026, 5, 31)
    assert newest_complete_day() == datetime.now(UTC).date() - DAY


def test_a_window_has_so_many_days_and_ends_with_its_last() -> None:
    window = window_until(date(2026, 3, 1), 90)
    assert (len(window), window.first, list(window)[-1]) == (90, date(2025, 12, 2), date(2026, 3, 1))
    with pytest.raises(ValueError, match="first 2026-03-02 is after last 2026-03-01"):
        Window(date(2026, 3, 2), date(2026, 3, 1))


def test_a_day_ends_where_the_next_begins_also_when_files_were_named_in_pacific_time() -> None:
    assert end_of(date(2026, 6, 1)) == datetime(2026, 6, 2)
    assert file_day_span(date(2013, 7, 1)) == (datetime(2013, 7, 1, 7), datetime(2013, 7, 2, 7))
    for first in (date(2012, 3, 1), date(2013, 3, 1), date(2013, 10, 25), date(2014, 12, 20)):
        for day in window_until(first + 20 * DAY, 20):
            assert end_of(day) == file_day_span(day + DAY)[0]
