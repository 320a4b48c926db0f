"""Partition keys: file days of the archive, variants of a dataset's models."""

from datetime import date, timedelta

from dagster import BackfillPolicy, DailyPartitionsDefinition, StaticPartitionsDefinition

from pipeline.following.record import followed_days
from pipeline.settings import Settings
from pipeline.sources.gharchive.hours import FIRST_DAY
from pipeline.sources.source import DatasetSpec
from pipeline.variants import models_for

FILE_DAYS = DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat())

# A run costs seconds of overhead, so one run takes a month of days.
DAYS_PER_RUN = 31
MONTHLY_RUNS = BackfillPolicy.multi_run(max_partitions_per_run=DAYS_PER_RUN)


def day_range(first: date, last: date) -> dict[str, str]:
    """Return the tags that let one run cover the file days from `first` to `last`."""
    return {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }


def home_days(settings: Settings) -> DailyPartitionsDefinition:
    """Return the file days of the home's window, up to the newest that has ended."""
    end = settings.github_end + timedelta(days=1)  # exclusive
    return DailyPartitionsDefinition(settings.github_history.isoformat(), end_date=end.isoformat())


def followed_partitions(settings: Settings) -> DailyPartitionsDefinition:
    """Return the days that can be followed: from the first followed day on, or all if there is none."""
    days = followed_days(settings.lake)
    return DailyPartitionsDefinition(days[0].isoformat()) if days else FILE_DAYS


def variant_partitions(spec: DatasetSpec, settings: Settings) -> StaticPartitionsDefinition:
    """Return the keys of the models that LDG_VARIANTS names and of those whose training was begun before."""
    folders = settings.lake.models / spec.name
    return StaticPartitionsDefinition(
        [
            variant.key
            for variant in models_for(spec.relations)
            if variant.name in settings.variants or (folders / variant.key).exists()
        ]
    )
