"""`ldg`: the whole system as one command. Exit codes: 0 done, 1 failed, 2 wrong input, 130 interrupted.

Commands import heavy libraries inside their functions, so that `--help` is fast.
"""

import atexit
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from assets.cli.cluster import scheduler, worker
from assets.cli.dev import dev
from assets.cli.doctor import doctor
from assets.cli.export import export
from assets.cli.follow import follow
from assets.cli.forecast import forecast
from assets.cli.listing import list_names
from assets.cli.page import page
from assets.cli.predict import predict
from assets.cli.report import report
from assets.cli.reproduce import reproduce
from assets.cli.run import run
from assets.cli.sample import sample
from assets.cli.serve import serve
from assets.cli.storage import storage
from assets.cli.store import store
from assets.cli.train import train
from pipeline.machine import PACKAGE

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 130 interrupted. Settings are variables LDG_…: "
    "docs/settings.md lists them, `ldg doctor` shows what is set.",
)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    help="Where everything is kept; takes precedence over LDG_HOME.",
)
@click.version_option(package_name=PACKAGE, prog_name="ldg", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where in the code a failure happened.")
def ldg(home: Path | None, traceback: bool) -> None:  # noqa: ARG001 - `main` asks for the traceback
    """Forecast who interacts with whom next, and infer the hidden graph behind it."""
    if home is not None:
        os.environ["LDG_HOME"] = str(home)


for command in (
    *(run, follow, forecast, reproduce, train, predict, export),
    *(list_names, report, page, sample, dev, serve, store, storage, scheduler, worker, doctor),
):
    ldg.add_command(command)


def program(arguments: Sequence[str] | None = None, name: str = "ldg") -> NoReturn:
    """Run `ldg` as a process of its own.

    While the interpreter ends, DuckDB's bindings may list objects of theirs as leaked: that is not shown.
    """
    atexit.register(silence_errors)
    main(arguments, name)


def silence_errors() -> None:
    """Discard what is written to standard error from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def main(arguments: Sequence[str] | None = None, program: str = "ldg") -> NoReturn:
    """Run the command that the arguments name, print any error as a sentence, and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        sys.exit(ldg.main(arguments, prog_name=program, standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--traceback" in arguments:
            traceback.print_exc()
        click.echo(f"Error: {error_sentence(error)}", err=True)
        sys.exit(WRONG_INPUT if is_wrong_input(error) else FAILED)


def error_sentence(error: Exception) -> str:
    """Return the error's message; except for OSError and ValueError, with its type and a hint."""
    if isinstance(error, OSError | ValueError):
        return str(error)
    return f"{type(error).__name__}: {error} (`ldg --traceback …` shows where)"


def is_wrong_input(error: Exception) -> bool:
    """Return True for errors in the user's input: a setting or the files of the paper's experiments."""
    from pipeline.settings import SettingError
    from pipeline.sources.paper import PaperError

    return isinstance(error, SettingError | PaperError)
