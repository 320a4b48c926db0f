"""`ldg list`: the names of datasets, nodes and variants of a home, as other commands take them."""

from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_read, stored_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.lake import Lake
    from pipeline.sources.source import DatasetSpec


@click.command("list", short_help="Datasets, variants and nodes by name.")
@click.argument("dataset", required=False)
@click.argument("pattern", default="*")
def list_names(dataset: str | None, pattern: str) -> None:
    """List the datasets of this home and their variants, or the nodes of DATASET.

    PATTERN chooses nodes by name, in upper or lower case: * stands for any text, ? for one character.
    """
    settings = home_to_read()
    if dataset is not None:
        list_nodes(settings.lake, dataset, pattern)
        return
    from pipeline.event_table import dataset_names
    from pipeline.following.record import followed_days
    from pipeline.sources.registry import registry
    from pipeline.text import printable

    specs = {spec.name: spec for spec in registry(settings)}
    for name in dict.fromkeys([*specs, *dataset_names(settings.lake)]):
        click.echo(printable(name))
        for label, text in describe_dataset(settings.lake, name, specs.get(name)):
            click.echo(f"  {label:<16}{printable(text)}")
    if days := followed_days(settings.lake):
        click.echo(f"followed by {', '.join(settings.follow_variants)}, from {days[0]} to {days[-1]}")


def list_nodes(lake: "Lake", dataset: str, pattern: str) -> None:
    """Print number and name of the nodes of a dataset whose names match a pattern, ignoring case."""
    nodes = stored_table(lake, dataset).nodes
    from fnmatch import fnmatchcase

    from pipeline.text import printable

    fitting = [
        (node, name)
        for node, name in nodes.select("node", "name").iter_rows()
        if fnmatchcase(name.lower(), pattern.lower())
    ]
    if not fitting:
        raise WrongInputError(
            f"no node of {dataset} has a name that fits {pattern!r}; it has {nodes.height:,} nodes, and "
            "a pattern such as '*a*' fits every name with an a"
        )
    for node, name in fitting:
        click.echo(f"{node:>8}  {printable(name)}")


def describe_dataset(lake: "Lake", name: str, spec: "DatasetSpec | None") -> "Iterator[tuple[str, str]]":
    """Yield label and text of each line on a dataset: events, trained, outdated and trainable variants."""
    from pyarrow.parquet import read_metadata

    from pipeline.event_table import has_event_table
    from pipeline.results.trained import current_variants, trained_variants
    from pipeline.variants import models_for

    current: list[str] = []
    if has_event_table(lake.dataset(name)):
        events, nodes = (
            read_metadata(lake.dataset(name) / f"{frame}.parquet").num_rows for frame in ("events", "nodes")
        )
        yield "event table", f"{events:,} events of {nodes:,} nodes"
        current = [one.key for one in current_variants(lake, name)]
        yield "trained", ", ".join(current) or "none"
        if earlier := [one.key for one in trained_variants(lake, name) if one.key not in current]:
            yield "outdated", f"{', '.join(earlier)} (trained on an earlier event table)"
    elif spec is not None and spec.problem is not None:
        yield "wrong", spec.problem
    else:
        yield "event table", f"none yet: `ldg run --datasets {name}` makes it"
    if spec is not None and spec.problem is None:
        keys = [variant.key for variant in models_for(spec.relations) if variant.key not in current]
        yield "can be trained", ", ".join(keys)
