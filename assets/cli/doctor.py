"""`ldg doctor`: settings and their origin, versions, and checks of home, disk, sources and storage."""

import platform
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.machine import PACKAGE
from pipeline.sources.urls import is_url, shown_address

if TYPE_CHECKING:
    from pipeline.settings import Settings
    from pipeline.sources.source import Place, Source

PACKAGES = (PACKAGE, "torch", "dagster", "polars", "duckdb", "pydantic-settings")
SECONDS = 3.0  # timeout of a source
LITTLE_SPACE = 2 << 30


@click.command(short_help="What is set, what can be reached, what is missing.")
def doctor() -> None:
    """Print settings and where they are set, versions, and what is missing or cannot be reached.

    The exit code is 1 if something that a run needs is missing, and 2 if a setting is wrong.
    """
    from pipeline.settings import Settings
    from pipeline.sources.registry import SOURCES

    settings = Settings.load()
    click.echo("Settings (shell, then the home's .env, then ./.env, then the default)")
    for line in settings_lines(settings):
        click.echo(f"  {line}")
    click.echo("Versions")
    for line in version_lines():
        click.echo(f"  {line}")
    click.echo("Checks")
    findings = [home_finding(settings), space_finding(settings), *source_findings(settings, SOURCES)]
    findings += storage_findings(settings)
    findings += [(True, f"note: {sentence}") for sentence in settings.still_to_come()]
    for good, sentence in findings:
        click.echo(f"  {'ok     ' if good else 'MISSING'}  {sentence}")
    if not all(good for good, _ in findings):
        raise click.exceptions.Exit(1)


def settings_lines(settings: "Settings") -> list[str]:
    """Return a line per setting with its value and origin, without secrets."""
    from pipeline.settings import SECRET, values_in_force, variable

    values = values_in_force()
    lines = []
    for name, text in settings.environment().items():
        value = values.get(name)
        source = value.source if value and value.text.strip() else "default"
        secret = text and name in map(variable, SECRET)
        lines.append(f"{name}={'(not shown)' if secret else shown_address(text)}  ({source})")
    return lines


def version_lines() -> list[str]:
    """Return the versions of Python, the machine and the main packages."""
    lines = [f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    for package in PACKAGES:
        try:
            lines.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{package} is not installed")
    return lines


def home_finding(settings: "Settings") -> tuple[bool, str]:
    """Check that the home is writable and report its results; a missing home is not created."""
    if not settings.home.exists():
        return True, f"home {settings.home} is not there yet; `ldg run` makes it"
    settings.make_home()
    lake = settings.lake
    results = [
        name for name, path in (("warehouse", lake.warehouse), ("report", lake.report)) if path.exists()
    ]
    return True, f"home {settings.home} can be written to; {' and '.join(results) or 'no results'} there"


def space_finding(settings: "Settings") -> tuple[bool, str]:
    """Check the free space on the disk of the home, or of its nearest existing parent."""
    home = settings.home.absolute()
    free = shutil.disk_usage(next(path for path in (home, *home.parents) if path.exists())).free
    return free >= LITTLE_SPACE, f"{free / (1 << 30):.1f} GB are free on the home's disk"


def source_findings(settings: "Settings", sources: "Sequence[Source]") -> list[tuple[bool, str]]:
    """Check that each raw source exists or answers."""
    findings = []
    for source in sources:
        if (reason := source.missing(settings)) is not None:
            findings.append((True, f"{source.title}: left out, {reason}"))
        elif (place := source.place(settings)) is not None:
            findings.append(source_reached(source.title, place))
        else:
            findings.append((True, f"{source.title}: no setting says where it is, nothing to look for"))
    return findings


def storage_findings(settings: "Settings") -> list[tuple[bool, str]]:
    """Check that the shared storage answers and accepts the credentials; empty without a storage."""
    if not settings.storage:
        return []
    from pipeline.storage.bucket import Bucket, StorageError

    bucket = Bucket.of(settings.storage, settings.home, patience=SECONDS, tries=1)
    try:
        bucket.list("seals/results")
    except StorageError as error:
        return [(False, f"storage: {error}")]
    return [(True, f"storage: {bucket.where} answers")]


def source_reached(title: str, place: "Place") -> tuple[bool, str]:
    """Check that a source's path exists or its URL answers; otherwise name the variable to set."""
    address, variable = shown_address(place.where), place.variable
    if not is_url(place.where):
        there = Path(place.where).expanduser().exists()
        return there, f"{title}: {address} {'is there' if there else f'is not there; {variable} names it'}"
    import requests

    try:
        status = requests.head(place.where, timeout=SECONDS, allow_redirects=True).status_code
    except requests.RequestException as error:
        reason = type(error).__name__
        return False, f"{title}: {address} cannot be reached ({reason}); {variable} names it"
    return status < 500, f"{title}: {address} answers with status {status}"
