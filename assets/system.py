"""The Dagster definitions of a home: all assets, checks, jobs, schedules and sensors, listed explicitly."""

from functools import partial

from dagster import Definitions, map_asset_specs, multiprocess_executor

from assets.alerts import alerts
from assets.forks import OF_STEPS
from assets.jobs import jobs
from assets.lanes.dataset import dataset_chain
from assets.lanes.following import following_archive, following_day
from assets.lanes.github import gharchive_files, github_events, github_subnetwork
from assets.lanes.results import result_assets
from assets.lanes.social_evolution import social_evolution_files
from assets.pages import explained
from assets.schedules import JOBS, SENSORS, schedules
from assets.settings_resource import settings_resource
from pipeline.settings import Settings
from pipeline.sources.registry import registry


def build_definitions(settings: Settings) -> Definitions:
    """Return the definitions for the home of `settings`, with a lane for each dataset found there."""
    specs = registry(settings)
    chains = [asset for spec in specs for asset in dataset_chain(spec, settings)]
    assets = [
        gharchive_files,
        github_events,
        github_subnetwork,
        following_archive,
        following_day,
        social_evolution_files,
        *chains,
        *result_assets(specs),
    ]
    return Definitions(
        assets=map_asset_specs(partial(explained, settings=settings), assets),
        jobs=[*JOBS, *jobs(settings)],
        schedules=schedules(settings),
        sensors=[*SENSORS, alerts(settings)],
        resources={"settings": settings_resource(settings)},
        # Steps are heavy: a small machine runs two at a time. More trainings than slots would wait in a run.
        executor=multiprocess_executor.configured(
            {"max_concurrent": min(2, settings.trainings), "start_method": OF_STEPS}
        ),
    )
