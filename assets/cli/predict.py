"""`ldg predict`: whom a node interacts with next."""

from datetime import datetime

import click

from assets.cli.home import WrongInputError, home_to_read, stored_table


@click.command(short_help="Whom does a node interact with next?")
@click.argument("dataset")
@click.argument("node")
@click.option("--variant", help="A trained variant; without it, the relational-event model if trained.")
@click.option(
    "--at", type=click.DateTime(), help="As of this moment of the test period; without it, the end."
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many partners.")
def predict(dataset: str, node: str, variant: str | None, at: datetime | None, top: int) -> None:
    """Print the likeliest partners of the next communication of NODE, a name or number in DATASET."""
    lake = home_to_read().lake
    table = stored_table(lake, dataset)
    from pipeline.rem_variants import REM
    from pipeline.results.predictions import along
    from pipeline.results.trained import current_variants, showcase
    from pipeline.text import suggest_name
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
    is_number = node.isdecimal() and node not in table.nodes["name"]
    from model import load

    try:
        partners = load(chosen.folder, lake.dataset(dataset)).predict(
            int(node) if is_number else node, at, top
        )
    except ValueError as error:
        raise WrongInputError(str(error)) from None
    click.echo(f"{table.title}: next partners of {node}, by {chosen.label(relations)}")
    for number, partner in enumerate(partners.iter_rows(named=True), start=1):
        reason = f"  ({along(partner['why'], partner['edge_type'])})" if "why" in partner else ""
        times = expected_time(partner.get("within_day"), partner.get("expected_days"))
        click.echo(f"{number:>4}  {partner['probability']:>7.1%}  {partner['partner']}{times}{reason}")


def expected_time(within_day: float | None, expected_days: float | None) -> str:
    """When to expect an event, in words; nothing where that is not learned."""
    if within_day is None or expected_days is None:
        return ""
    when = f"{expected_days:.0f} days" if expected_days >= 2 else f"{24 * expected_days:.0f} h"
    return f", {within_day:.0%} within a day, expected in {when}"
