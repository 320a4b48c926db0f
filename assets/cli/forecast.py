"""`ldg forecast`: a followed account's next partners, with probability within a day and expected time."""

import click

from assets.cli.home import WrongInputError, home_to_read


@click.command(short_help="Whom does one of the followed act on next?")
@click.argument("name")
@click.option("--top", type=click.IntRange(1, 20), default=10, show_default=True, help="How many partners.")
def forecast(name: str, top: int) -> None:
    """Print the latest published forecast for NAME, one of the accounts that `ldg follow` follows.

    The forecast is for the day after the newest followed one. For other datasets and trained models, use
    `ldg predict`.
    """
    settings = home_to_read()
    import polars as pl

    from pipeline.following.files import FollowingFiles
    from pipeline.following.record import followed_days
    from pipeline.following.rule import NOTHING_HAPPENED
    from pipeline.lake import read_parquet
    from pipeline.text import printable

    days = followed_days(settings.lake)
    if not days:
        raise WrongInputError(f"nothing is followed in {settings.home} yet: `ldg follow` begins")
    forecasts = read_parquet(FollowingFiles.of(settings.lake).forecasts(days[-1]))
    if forecasts.is_empty():
        raise click.ClickException(f"there is no forecast as of the end of {days[-1]}: {NOTHING_HAPPENED}")
    rows = forecasts.filter(pl.col("name").str.to_lowercase() == name.lower(), pl.col("rank") < top)
    if rows.is_empty():
        raise WrongInputError(
            f"{name} is not among the {forecasts['node'].n_unique():,} accounts that are followed; "
            "the table `followed` lists them"
        )
    for (variant,), partners in rows.group_by("variant", maintain_order=True):
        click.echo(f"{printable(rows['name'][0])} as of {rows['as_of'][0]:%Y-%m-%d %H:%M} UTC, by {variant}")
        for partner in partners.iter_rows(named=True):
            when = partner["expected_at"]
            expected = f"around {when:%Y-%m-%d %H:%M}" if when else "not within a year"
            click.echo(
                f"{partner['rank'] + 1:>4}  {partner['probability']:>6.1%} within a day, {expected}  "
                f"{printable(partner['partner_name'])}"
            )
