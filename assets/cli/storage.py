"""`ldg storage`: what this home shares with others, published or brought by hand."""

from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.lake import Lake
    from pipeline.storage.things import Thing

REPLACE = click.option("--replace", is_flag=True, help="Also where the other side has something else.")
THINGS = click.argument("names", metavar="[THING]...", nargs=-1)
LONGEST_WAIT = 3600.0  # seconds, for a thing that a run is making


@click.group(short_help="What several homes share: publish it, or bring it.")
def storage() -> None:
    """Publish to, or bring from, the storage that LDG_STORAGE names. Runs do both by themselves.

    A THING is for instance days/2013-02-15, hours/2013-02-15, subnetwork, datasets/github,
    models/github/rem-history, waiting_times/github or results.
    """


@storage.command(short_help="Put what is in this home into the storage.")
@THINGS
@REPLACE
def publish(names: tuple[str, ...], replace: bool) -> None:
    """Put what is finished in this home into the storage: the THINGs named, or everything."""
    from pipeline.storage.share import Storage
    from pipeline.storage.things import things_here

    lake = shared_lake()
    store = Storage.of(lake, click.echo)
    things = things_of_user(names) or list(things_here(lake.home))
    move(lake, things, lambda thing: store.publish(thing, replace), "Published")


@storage.command(short_help="Bring what the storage has into this home.")
@THINGS
@REPLACE
def bring(names: tuple[str, ...], replace: bool) -> None:
    """Bring into this home what others have published: the THINGs named, or everything but raw hours."""
    from pipeline.storage.share import Storage

    lake = shared_lake()
    store = Storage.of(lake, click.echo)
    things = things_of_user(names) or [thing for thing in store.news("") if not thing.keeps]
    move(lake, things, lambda thing: store.bring(thing, replace), "Brought")


def shared_lake() -> "Lake":
    """The home's lake, which must have a storage."""
    settings = home_to_write()
    if not settings.storage:
        raise WrongInputError("LDG_STORAGE names no storage; it takes an address such as s3://bucket/prefix")
    return settings.lake


def things_of_user(names: "Sequence[str]") -> "list[Thing]":
    """The things that the user named."""
    from pipeline.storage.things import thing_named

    try:
        return [thing_named(name) for name in names]
    except ValueError as error:
        raise WrongInputError(str(error)) from None


def move(lake: "Lake", things: "list[Thing]", how: "Callable[[Thing], int]", done: str) -> None:
    """Move things one after the other, each under its makers' lock, and say how much was moved."""
    from pipeline.locks import hold

    moved = []
    for thing in things:
        happening = f"{thing.name} is being made"
        with hold(lake.lock(*thing.lock), happening, "ldg storage", LONGEST_WAIT, click.echo):
            moved.append(how(thing))
    count = sum(amount > 0 for amount in moved)
    click.echo(f"{done} {sum(moved):,} bytes of {count:,} of {len(things):,} things.")
