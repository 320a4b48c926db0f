"""`ldg storage`: manual upload to and download from the storage that homes share."""

from typing import TYPE_CHECKING

import click

from assets.cli.home import WrongInputError, home_to_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.lake import Lake
    from pipeline.storage.things import Thing

REPLACE = click.option("--replace", is_flag=True, help="Also where the other side has something else.")
THINGS = click.argument("names", metavar="[THING]...", nargs=-1)
LONGEST_WAIT = 3600.0  # seconds, for the lock of a thing that a run is making


@click.group(short_help="What several homes share: publish it, or bring it.")
def storage() -> None:
    """Publish to, or bring from, the storage that LDG_STORAGE names. Runs do both automatically.

    A THING is for instance days/2013-02-15, hours/2013-02-15, subnetwork, datasets/github,
    models/github/rem-history, waiting_times/github or results.
    """


@storage.command(short_help="Put what is in this home into the storage.")
@THINGS
@REPLACE
def publish(names: tuple[str, ...], replace: bool) -> None:
    """Upload finished THINGs of this home to the storage: those named, or all."""
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
    """Download published THINGs into this home: those named, or all new ones except raw hours."""
    from pipeline.storage.share import Storage

    lake = shared_lake()
    store = Storage.of(lake, click.echo)
    things = things_of_user(names) or [thing for thing in store.news("") if not thing.keeps]
    move(lake, things, lambda thing: store.bring(thing, replace), "Brought")


def shared_lake() -> "Lake":
    """Return the home's lake; raise WrongInputError if LDG_STORAGE is not set."""
    settings = home_to_write()
    if not settings.storage:
        raise WrongInputError("LDG_STORAGE names no storage; it takes an address such as s3://bucket/prefix")
    return settings.lake


def things_of_user(names: "Sequence[str]") -> "list[Thing]":
    """Parse the names of things; raise WrongInputError for an unknown one."""
    from pipeline.storage.things import thing_named

    try:
        return [thing_named(name) for name in names]
    except ValueError as error:
        raise WrongInputError(str(error)) from None


def move(lake: "Lake", things: "list[Thing]", how: "Callable[[Thing], int]", done: str) -> None:
    """Apply `how` to each thing under its lock, and print the number of bytes moved."""
    from pipeline.locks import hold

    moved = []
    for thing in things:
        happening = f"{thing.name} is being made"
        with hold(lake.lock(*thing.lock), happening, "ldg storage", LONGEST_WAIT, click.echo):
            moved.append(how(thing))
    count = sum(amount > 0 for amount in moved)
    click.echo(f"{done} {sum(moved):,} bytes of {count:,} of {len(things):,} things.")
