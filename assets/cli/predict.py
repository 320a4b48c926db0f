"""`ldg predict`: whom a node interacts with next."""

import click

from assets.cli.home import WrongInputError, home_to_read


@click.command(short_help="Whom does a node interact with next?")
@click.argument("dataset")
@click.argument("node")
@click.option("--variant", help="A trained variant; without it, the paper's model if it is trained.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many partners.")
def predict(dataset: str, node: str, variant: str | None, top: int) -> None:
    """Print the likeliest next partners of NODE, a name or number in DATASET, at the end of its events.

    The share is the density of an event with that partner, relative to the likeliest partner's.
    """
    settings = home_to_read()
    from pipeline.event_table import dataset_names, read_event_table
    from pipeline.results.predicted import likeliest_partners, node_of
    from pipeline.results.trained import current_variants, showcase_variant, variant_label

    lake = settings.lake
    if dataset not in dataset_names(lake):
        built = ", ".join(dataset_names(lake)) or "none"
        raise WrongInputError(f"there is no event table of {dataset!r} in {lake.home}; there is {built}")
    table = read_event_table(lake.dataset(dataset))
    trained = current_variants(lake, table, "predictions")
    if not trained:
        raise WrongInputError(f"no model is trained on {dataset}: `ldg train {dataset} VARIANT` trains one")
    if variant and variant not in trained:
        raise WrongInputError(f"{variant} is not trained on {dataset}; trained: {', '.join(trained)}")
    chosen = variant or showcase_variant(trained)
    try:
        partners = likeliest_partners(lake, table, chosen, node_of(table, node), top)
    except LookupError as error:
        raise WrongInputError(error.args[0]) from None
    click.echo(f"{table.title}: next partners of {node}, by {variant_label(chosen)}")
    for number, partner in enumerate(partners, start=1):
        click.echo(f"{number:>4}  {partner.share:>7.1%}  {partner.name}")
