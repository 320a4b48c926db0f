"""Paths of the results page and of its evidence page."""

from pathlib import Path

from pipeline.sources.paper import is_the_papers


def page_of(home: Path) -> Path:
    """Return the path of a home's results page: in docs for the paper's settings, else in the home."""
    return Path("docs/results.md") if is_the_papers(home) else home / "page" / "results.md"


def evidence_of(page: Path) -> Path:
    """Return the path of the evidence page, beside the results page."""
    return page.with_name(f"{page.stem}-evidence.md")
