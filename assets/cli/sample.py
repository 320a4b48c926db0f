"""`ldg sample`: the embedded sample world."""

import click

from assets.cli.home import WrongInputError, home_to_write

# Files of a build, including one that was killed.
OURS = {".env", "dagster", "known_graphs", "sample_world"}


@click.command(short_help="Build the embedded sample world.")
def sample() -> None:
    """Build the embedded sample world in this home; `ldg run` then works on it."""
    settings = home_to_write()
    from pipeline.sources.sample import build, sample_paths

    paths = sample_paths(settings.home)
    others = sorted(path.name for path in settings.home.iterdir() if path.name not in OURS)
    if others and not paths.environment.exists():
        raise WrongInputError(
            f"{settings.home} holds {others[0]} and no sample world; give the sample world a home of its own"
        )
    try:
        state = "built" if build(settings.home) else "already built"
    except FileExistsError as error:
        raise WrongInputError(str(error)) from None
    click.echo(f"Sample world {state}: {paths.marker.parent}")
