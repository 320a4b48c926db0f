"""Digests of a home's results and of their inputs, to skip rebuilding unchanged results."""

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from pipeline.lake import Lake, file_sha256, write_json
from pipeline.machine import PACKAGES, PROJECT
from pipeline.sources.gharchive.account import read_account, unreadable

# Input files of the results, relative to the home. Weights are excluded: no result loads a model.
INPUTS = (
    "datasets/*/*.json",
    "datasets/*/*.parquet",
    "following/**/*.json",
    "following/**/*.parquet",
    "known_graphs/*.parquet",
    "models/*/*/*.json",
    "models/*/*/*.parquet",
    "subnetwork/github/*",
    "waiting_times/*/*.json",
    "waiting_times/*/*.parquet",
)
DRAWING = ("altair", "vl-convert-python", "jinja2")
CODE = ("*.py", "*.sql", "*.html", "*.css", "*.js")


def digest_inputs(lake: Lake, datasets: Iterable[str]) -> str:
    """Digest all inputs of the results: data files, code, package versions, the home's path."""
    files = sorted({path for pattern in INPUTS for path in lake.home.glob(pattern)})
    code = sorted({path for pattern in CODE for path in (PROJECT / "pipeline").rglob(pattern)})
    packages = [f"{package} {version(package)}" for package in (*PACKAGES, *DRAWING)]
    return digest_lines(
        [
            str(lake.home.resolve()),
            *datasets,
            *packages,
            *file_lines(PROJECT, code),
            *file_lines(lake.home, files),
            *map(describe_day, sorted(lake.github_accounts.glob("*.parquet"))),
        ]
    )


def describe_day(path: Path) -> str:
    """Describe the ledger of an archive day; `fetched_at` is excluded, so a mere retry changes nothing."""
    account = read_account(path)
    text = unreadable(path) if account is None else account.drop("fetched_at", strict=False).write_csv()
    return f"{path.name} {text}"


def digest_results(lake: Lake) -> str:
    """Digest the result tables, figures, warehouse and report."""
    files = [*lake.results.glob("*.parquet"), *lake.figures.glob("*/*"), lake.warehouse, lake.report]
    return digest_lines(file_lines(lake.home, sorted(files)))


def are_results_current(lake: Lake, inputs: str) -> bool:
    """Return whether the results were built from these inputs and no result file has changed since."""
    try:
        noted = json.loads(noted_digests(lake).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # missing or damaged: rebuild
        return False
    return noted == {"inputs": inputs, "results": digest_results(lake)}


def note_results(lake: Lake, inputs: str) -> None:
    """Record the inputs from which the present results were built."""
    write_json({"inputs": inputs, "results": digest_results(lake)}, noted_digests(lake))


def noted_digests(lake: Lake) -> Path:
    """Return the path of the recorded digests."""
    return lake.results / "digests.json"


def file_lines(root: Path, files: Iterable[Path]) -> list[str]:
    """Describe each file by its path below `root` and the SHA-256 of its content."""
    return [f"{path.relative_to(root)} {file_sha256(path)}" for path in files if path.is_file()]


def digest_lines(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
