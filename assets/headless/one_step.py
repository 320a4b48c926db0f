"""A step of a dataset's chain, run in a child process of `assets.headless.apart`."""

from collections.abc import Callable
from functools import partial

from dagster import Definitions, map_asset_specs

from assets.headless.instance import instance_of
from assets.headless.steps import Step, materialize
from assets.lanes.dataset import dataset_chain
from assets.pages import explained
from assets.settings_resource import settings_resource
from pipeline.progress import State, watched_by
from pipeline.settings import Settings
from pipeline.sources.registry import registry
from pipeline.variant_names import split_key


def make_one(dataset: str, step: Step, tell: Callable[[State | str], None]) -> None:
    """Materialize a step of a dataset's chain; `tell` receives progress and the warnings of its checks."""
    settings = Settings.load()
    if step.partition is not None:  # LDG_VARIANTS need not include the model
        settings = settings.model_copy(update={"variants": (split_key(step.partition)[0],)})
    # Build only this dataset's chain: building the whole system takes longer than a small training.
    (spec,) = (spec for spec in registry(settings) if spec.name == dataset)
    # Use `explained` as `assets.system` does, because Dagster stores the code version of each spec.
    assets = map_asset_specs(partial(explained, settings=settings), dataset_chain(spec, settings))
    chain = Definitions(assets=assets, resources={"settings": settings_resource(settings)})
    job = chain.resolve_implicit_global_asset_job_def()
    with instance_of(settings) as instance, watched_by(tell):
        for warning in materialize(step, job, instance):
            tell(warning)
