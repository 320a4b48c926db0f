"""Partition keys: file days of the archive, variants of a dataset's models."""

from datetime import date

from dagster import BackfillPolicy, DailyPartitionsDefinition, StaticPartitionsDefinition

from pipeline.settings import Settings
from pipeline.sources.gharchive.hours import FIRST_DAY
from pipeline.sources.source import DatasetSpec
from pipeline.variants import models_for

FILE_DAYS = DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat())

# A run costs seconds of overhead, so one run takes a month of days.
DAYS_PER_RUN = 31
MONTHLY_RUNS = BackfillPolicy.multi_run(max_partitions_per_run=DAYS_PER_RUN)


def day_range(first: date, last: date) -> dict[str, str]:
    """Tags that let one run cover the file days from `first` to `last`."""
    return {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }


def home_days(settings: Settings) -> DailyPartitionsDefinition:
    """The file days that a home shows: its own window first, then all that came since."""
    return DailyPartitionsDefinition(start_date=settings.github_history.isoformat())


def variant_partitions(spec: DatasetSpec) -> StaticPartitionsDefinition:
    """One partition for each model of `spec`: `<variant>-<interaction>`."""
    return StaticPartitionsDefinition([variant.key for variant in models_for(spec.relations)])
