"""`ldg run`: the whole pipeline of a home."""

import click

from assets.cli.home import EPOCHS, SEEDS, home_to_write, warn


@click.command(short_help="Make everything of this home.")
@click.option(
    "--datasets", metavar="NAME,…", help="The datasets to work on; takes precedence over LDG_DATASETS."
)
@click.option("--variants", metavar="NAME,…", help="The models to train; takes precedence over LDG_VARIANTS.")
@SEEDS
@EPOCHS
@click.option("--dry-run", is_flag=True, help="Say what would be made and what is finished; make nothing.")
def run(
    datasets: str | None, variants: str | None, seeds: str | None, epochs: str | None, dry_run: bool
) -> None:
    """Make raw files, event tables, trainings and results of this home, and print the tables.

    Finished work is not repeated. LDG_DATASETS and LDG_VARIANTS limit the run.
    """
    from pipeline.settings import Settings, set_options

    set_options({"datasets": datasets, "variants": variants, "seeds": seeds, "epochs": epochs})
    settings = Settings.load() if dry_run else home_to_write()
    from pipeline.sources.chosen import check_used_settings, chosen_datasets, chosen_variants

    chosen = chosen_variants(chosen_datasets(settings), settings)
    warn(check_used_settings([variant for _, variant in chosen]))
    from assets.headless.run import main, print_plan

    if dry_run:
        print_plan(settings)
    else:
        main(settings)
