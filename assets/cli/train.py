"""`ldg train`: one variant on one dataset."""

import click

from assets.cli.home import WrongInputError, home_to_write


@click.command(short_help="Train one variant on one dataset.")
@click.argument("dataset")
@click.argument("variant")
def train(dataset: str, variant: str) -> None:
    """Train VARIANT (for instance ldg_learned_sparse-bilinear) on DATASET, whose event table must be there.

    A finished training is not repeated, an unfinished one goes on from its checkpoint.
    """
    settings = home_to_write()
    from pipeline.event_table import has_event_table
    from pipeline.sources.registry import registry
    from pipeline.variants import models_for

    specs = {spec.name: spec for spec in registry(settings)}
    if dataset not in specs:
        raise WrongInputError(f"there is no dataset {dataset!r} here; there are {', '.join(specs)}")
    variants = {one.key: one for one in models_for(specs[dataset].relations)}
    if variant not in variants:
        raise WrongInputError(f"{dataset} has no variant {variant!r}; it has {', '.join(variants)}")
    if not has_event_table(settings.lake.dataset(dataset)):
        raise WrongInputError(f"{dataset} has no event table yet: `LDG_DATASETS={dataset} ldg run` makes it")
    from assets.headless.run import train_one_variant

    train_one_variant(settings, specs[dataset], variants[variant])
    click.echo(f"Trained: {settings.lake.model(dataset, variant)}")
