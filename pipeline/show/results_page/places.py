"""Where the page of results and the page of its evidence belong."""

from pathlib import Path

from pipeline.sources.paper import is_the_papers


def page_of(home: Path) -> Path:
    """Where a home's page of results belongs: in docs, or in the home if its settings are a trial's."""
    return Path("docs/results.md") if is_the_papers(home) else home / "page" / "results.md"


def evidence_of(page: Path) -> Path:
    """The page beside a page of results that holds its evidence."""
    return page.with_name(f"{page.stem}-evidence.md")
