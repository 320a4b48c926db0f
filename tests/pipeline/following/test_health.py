"""Whether following is well."""

from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest

from pipeline.following.health import LOST_DAYS, behind, lost_to_recency, rate_drift

FIRST = date(2024, 5, 1)


def counts(*events: int) -> dict[date, int]:
    return {FIRST + timedelta(days=number): count for number, count in enumerate(events)}


@pytest.mark.parametrize("events", [(100,), (100, 90, 110), (100, 100, 290), (100, 100, 34)])
def test_a_usual_day_is_no_drift(events: tuple[int, ...]) -> None:
    assert rate_drift(counts(*events)) == []


@pytest.mark.parametrize("newest", [0, 30, 301])
def test_a_day_with_far_more_or_fewer_events_is_a_drift(newest: int) -> None:
    assert rate_drift(counts(100, 101, 99, newest)) == [
        f"2024-05-04 has {newest:,} events of those followed, usual are 100"
    ]


def track(mars: list[float | None], recency: float = 2.0) -> pl.DataFrame:
    rows = [
        {"as_of": datetime(2024, 5, 1) + timedelta(days=day), "predictor": who, "learns": learns, "mar": mar}
        for day, of_model in enumerate(mars)
        for who, learns, mar in (("rem", True, of_model), ("recency", False, recency))
    ]
    return pl.DataFrame(rows, schema_overrides={"mar": pl.Float64}).with_columns(how=pl.lit("online"))


def test_a_model_that_lost_to_recency_for_seven_days_is_named() -> None:
    assert lost_to_recency(track([1.0] + [3.0] * LOST_DAYS)) == [
        "rem has ranked worse than recency for 7 days"
    ]


@pytest.mark.parametrize("mars", [[3.0] * (LOST_DAYS - 1), [3.0] * 6 + [1.0], [3.0] * 6 + [None]])
def test_fewer_days_one_day_ahead_or_one_without_events_are_no_defeat(mars: list[float | None]) -> None:
    assert lost_to_recency(track(mars)) == []


def test_the_newest_day_must_not_be_older_than_two_days() -> None:
    noon = datetime(2024, 5, 3, 12, 45, tzinfo=UTC)
    assert behind([FIRST], noon) == []  # it ended at midnight before the 2nd
    assert behind([FIRST], noon + timedelta(days=1)) == ["the newest followed day is 2024-05-01"]
    assert behind([], noon) == ["no day is followed yet"]
