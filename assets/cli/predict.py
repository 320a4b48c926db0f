"""`ldg predict`: whom a node interacts with next."""

from datetime import datetime

import click

from assets.cli.home import WrongInputError, home_to_read, stored_table


@click.command(short_help="Whom does a node interact with next?")
@click.argument("dataset")
@click.argument("node")
@click.option("--variant", help="A trained variant; without it, the relational-event model if trained.")
@click.option(
    "--at", type=click.DateTime(), help="As of this moment of the test period or later; without it, the end."
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many partners.")
def predict(dataset: str, node: str, variant: str | None, at: datetime | None, top: int) -> None:
    """Print the likeliest partners of the next communication of NODE in DATASET.

    NODE is a node's name, or, if no node has that name, a node's number, from 0 in the order of
    nodes.parquet. It works for every trained model of every dataset; `ldg forecast` prints the published
    forecasts of `ldg follow`.
    """
    lake = home_to_read().lake
    table = stored_table(lake, dataset)
    from pipeline.rem_variants import REM
    from pipeline.results.trained import current_variants, showcase
    from pipeline.text import printable, suggest_name
    from pipeline.variant_names import HISTORY, variant_key

    trained = {one.key: one for one in current_variants(lake, dataset)}
    if not trained:
        raise WrongInputError(f"no model is trained on {dataset}: `ldg train {dataset} VARIANT` trains one")
    if variant and variant not in trained:
        raise WrongInputError(
            f"{variant} is not trained on {dataset}; trained: {', '.join(trained)}"
            f"{suggest_name(variant, trained)}"
        )
    relations = table.metadata["relations"]
    best = trained.get(variant_key(REM, HISTORY)) or showcase(list(trained.values()), relations)
    chosen = trained[variant] if variant else best
    from model import load

    try:
        prediction = load(chosen.folder, lake.dataset(dataset)).predict(node, at, top)
    except ValueError as error:
        raise WrongInputError(str(error)) from None
    title = f"{table.title}: next partners of {prediction.node}, by {chosen.label(relations)}"
    click.echo(f"{printable(title)}\n{prediction}")
