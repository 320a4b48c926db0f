"""`ldg page`: the page of the paper's results."""

from pathlib import Path

import click

from assets.cli.home import WrongInputError, home_to_read, unwritable


@click.command(short_help="Write the page of the paper's results.")
@click.argument("page", type=click.Path(dir_okay=False, path_type=Path), required=False)
def page(page: Path | None) -> None:
    """Write the page of the paper's results from this home, with its figures beside it.

    Without PAGE: docs/results.md for a home with the paper's settings, page/results.md in any other home.
    """
    settings = home_to_read()
    from pipeline.show.results_page import write_results_page
    from pipeline.show.results_page.places import page_of

    path = page or page_of(settings.home)
    try:
        write_results_page(settings.lake, path)
    except FileNotFoundError as error:
        raise WrongInputError(str(error)) from None
    except (NotADirectoryError, FileExistsError, PermissionError) as error:
        raise unwritable("PAGE", path, error) from None
    click.echo(f"Results: {path}")
