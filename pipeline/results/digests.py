"""Digests of a home's results and of everything they are made from: unchanged results are not made again."""

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from pipeline.lake import Lake, file_sha256, write_json
from pipeline.machine import PACKAGES, PROJECT
from pipeline.sources.gharchive.account import read_account, unreadable

# Files below a home that results are read from. Weights are none of them: no result loads a model.
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
    """Digest what decides the results: the files they are read from, code, packages, the home's path."""
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
    """Describe what was read of an archive day; that a missing hour was asked for again is no change."""
    account = read_account(path)
    text = unreadable(path) if account is None else account.drop("fetched_at", strict=False).write_csv()
    return f"{path.name} {text}"


def digest_results(lake: Lake) -> str:
    """Digest the result tables, figures, the warehouse and the report."""
    files = [*lake.results.glob("*.parquet"), *lake.figures.glob("*/*"), lake.warehouse, lake.report]
    return digest_lines(file_lines(lake.home, sorted(files)))


def are_results_current(lake: Lake, inputs: str) -> bool:
    """Tell whether the results were made from these inputs, and no file of them was changed or lost since."""
    try:
        noted = json.loads(noted_digests(lake).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or damaged: the results are made
        return False
    return noted == {"inputs": inputs, "results": digest_results(lake)}


def note_results(lake: Lake, inputs: str) -> None:
    """Note from which inputs the present results were made."""
    write_json({"inputs": inputs, "results": digest_results(lake)}, noted_digests(lake))


def noted_digests(lake: Lake) -> Path:
    """Locate the digests of the last results."""
    return lake.results / "digests.json"


def file_lines(root: Path, files: Iterable[Path]) -> list[str]:
    """Describe each file by its path below `root` and the digest of its bytes."""
    return [f"{path.relative_to(root)} {file_sha256(path)}" for path in files if path.is_file()]


def digest_lines(lines: Iterable[str]) -> str:
    """Digest lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
