"""Pages made of parts that are updated independently: the results page and its evidence."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.lake import write_text
from pipeline.text import printable_document

HEAD = "<!-- Written by `ldg page`; change the code, not this page. -->\n"  # first line of both pages
BEYOND = "<!-- beyond the paper -->\n"  # start of the second part
FOLLOWED = "<!-- followed: measured with `benchmarks/following` of version 0.3 -->\n"  # start of the third


@dataclass(frozen=True)
class Parts:
    """The parts of a page: the paper's models, models beyond it, a followed year; empty if absent."""

    papers: str
    beyond: str = ""
    followed: str = ""


def read_parts(page: Path) -> Parts:
    """Read the parts of an existing page; all are empty if there is no page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    earlier, _, followed = text.partition(f"\n{FOLLOWED}\n")
    papers, _, beyond = earlier.partition(f"\n{BEYOND}\n")
    return Parts(papers, beyond, followed)


def write_parts(parts: Parts, page: Path) -> None:
    """Write the page, with a marker line before each part but the first."""
    marked = [(BEYOND, parts.beyond), (FOLLOWED, parts.followed)]
    texts = [parts.papers, *(text for mark, part in marked if part for text in (mark, part))]
    write_text(printable_document("\n".join(texts)), page)
