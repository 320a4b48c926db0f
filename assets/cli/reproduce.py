"""`ldg reproduce`: the paper's experiments."""

import os
from pathlib import Path

import click

from assets.cli.home import home_to_write


@click.command(short_help="Reproduce the paper's tables and figures.")
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
def reproduce(data: Path) -> None:
    """Reproduce the paper's tables and figures from both of its data sets, and write the page of results.

    DATA is the folder with github_2013 and social_evolution; docs/operations.md lists its files. Settings
    that affect results are pinned in the home's .env, which here takes precedence over the shell.
    """
    settings = home_to_write()
    from pipeline.settings import Settings, shell_variables
    from pipeline.sources.paper import papers_environment, prepare_papers_home

    state = "prepared" if prepare_papers_home(data, settings.home, shell_variables()) else "already prepared"
    click.echo(f"The paper's experiments {state}: {settings.home}")
    pinned = papers_environment(settings.home) or {}
    aside = [name for name, text in pinned.items() if os.environ.get(name, text) != text]
    # Pinned settings that an older home's .env lacks must not come from the shell or ./.env.
    os.environ |= pinned
    click.echo(f"Settings are pinned in {settings.home / '.env'}, which here takes precedence over the shell")
    for name in aside:
        click.echo(f"  {name} of the shell is set aside: it stays {pinned[name]!r}")
    from assets.headless.run import main
    from pipeline.show.results_page import write_results_page
    from pipeline.show.results_page.places import page_of

    main(Settings.load())
    write_results_page(settings.lake, page_of(settings.home))
    click.echo(f"  page       {page_of(settings.home)}")
