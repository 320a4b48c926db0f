"""`ldg train`: one variant on one dataset."""

import click

from assets.cli.home import EPOCHS, SEEDS, WrongInputError, home_to_write, warn


@click.command(short_help="Train one variant on one dataset.")
@click.argument("dataset")
@click.argument("variant")
@SEEDS
@EPOCHS
def train(dataset: str, variant: str, seeds: str | None, epochs: str | None) -> None:
    """Train VARIANT (for instance ldg_learned_sparse-bilinear) on DATASET, whose event table must exist.

    A finished training is not repeated; an unfinished one resumes from its checkpoint.
    """
    from pipeline.settings import set_options

    set_options({"seeds": seeds, "epochs": epochs})
    settings = home_to_write()
    from pipeline.event_table import has_event_table
    from pipeline.rem_variants import explain_removal
    from pipeline.sources.chosen import check_used_settings
    from pipeline.sources.registry import registry
    from pipeline.text import suggest_name
    from pipeline.variants import models_for

    specs = {spec.name: spec for spec in registry(settings)}
    if dataset not in specs:
        raise WrongInputError(
            f"there is no dataset {dataset!r} here; there are {', '.join(specs)}"
            f"{suggest_name(dataset, specs)}"
        )
    variants = {one.key: one for one in models_for(specs[dataset].relations)}
    if variant not in variants:
        raise WrongInputError(
            explain_removal(variant)
            or f"{dataset} has no variant {variant!r}; it has {', '.join(variants)}"
            f"{suggest_name(variant, variants)}"
        )
    warn(check_used_settings([variants[key] for key in (variant, variants[variant].needs) if key]))
    if not has_event_table(settings.lake.dataset(dataset)):
        raise WrongInputError(f"{dataset} has no event table yet: `LDG_DATASETS={dataset} ldg run` makes it")
    from assets.headless.run import train_one_variant

    train_one_variant(settings, specs[dataset], variants[variant])
    click.echo(f"Trained: {settings.lake.model(dataset, variant)}")
