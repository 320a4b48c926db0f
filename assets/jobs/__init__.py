"""The jobs that users launch by name; their defaults need no changes."""

from typing import Any

from dagster import AssetSelection, define_asset_job

from assets.jobs.train_chosen import train_chosen
from pipeline.settings import Settings

refresh_results = define_asset_job(
    "refresh_results",
    selection=AssetSelection.groups("results"),
    description="Every result table, the figures, the warehouse and the report, from what is trained.",
)


def jobs(settings: Settings) -> list[Any]:
    """Return the jobs, with the values of `settings` as the defaults of their config."""
    return [train_chosen(settings), refresh_results]
