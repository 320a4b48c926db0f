"""One step of a dataset's chain, in a process that `assets.headless.apart` starts."""

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
    """Materialize a step of a dataset's chain. Told are how far it is and what its checks warn of."""
    settings = Settings.load()
    if step.partition is not None:  # a model that LDG_VARIANTS need not name
        settings = settings.model_copy(update={"variants": (split_key(step.partition)[0],)})
    # Only this dataset's chain: the whole system would take longer than a small training.
    (spec,) = (spec for spec in registry(settings) if spec.name == dataset)
    # With their pages, as in `assets.system`: Dagster stores the code version of what it materializes.
    assets = map_asset_specs(partial(explained, settings=settings), dataset_chain(spec, settings))
    chain = Definitions(assets=assets, resources={"settings": settings_resource(settings)})
    job = chain.resolve_implicit_global_asset_job_def()
    with instance_of(settings) as instance, watched_by(tell):
        for warning in materialize(step, job, instance):
            tell(warning)
