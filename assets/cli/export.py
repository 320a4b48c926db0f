"""`ldg export`: an event table for other tools."""

from pathlib import Path

import click

from assets.cli.home import WrongInputError, home_to_read, stored_table, unwritable


@click.command(short_help="Write a dataset's events for other tools.")
@click.argument("dataset")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "csv", "pyg"]),
    required=True,
    help="Parquet; CSV as TGM and TGB read it; arrays of a PyG TemporalData.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to write; it must be new or empty.",
)
def export(dataset: str, form: str, folder: Path) -> None:
    """Write DATASET as a folder for other tools: events with their splits, nodes and associations."""
    table = stored_table(home_to_read().lake, dataset)
    from pipeline.export import export as write_export
    from pipeline.text import printable

    try:
        meaning = write_export(table, form, folder)
    except FileExistsError as error:
        raise WrongInputError(str(error)) from None
    except (NotADirectoryError, PermissionError) as error:
        raise unwritable("--to", folder, error) from None
    counts = ", ".join(f"{count:,} {split}" for split, count in meaning["events"].items())
    events = f"{sum(meaning['events'].values()):,} events ({counts})"
    click.echo(f"{printable(meaning['title'])}: {events} in {folder}")
