"""A page in parts, of which each is renewed without the others: the page of results, and its evidence."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.lake import write_text
from pipeline.text import printable_document

HEAD = "<!-- Written by `ldg page`; change the code, not this page. -->\n"  # what both pages begin with
BEYOND = "<!-- beyond the paper -->\n"  # where the second part begins
FOLLOWED = "<!-- followed: measured with `benchmarks/following` of version 0.3 -->\n"  # where the third does


@dataclass(frozen=True)
class Parts:
    """The paper's models, what goes beyond them, a year as if followed; each empty if it is not there."""

    papers: str
    beyond: str = ""
    followed: str = ""


def read_parts(page: Path) -> Parts:
    """The parts of the page that is there."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    earlier, _, followed = text.partition(f"\n{FOLLOWED}\n")
    papers, _, beyond = earlier.partition(f"\n{BEYOND}\n")
    return Parts(papers, beyond, followed)


def write_parts(parts: Parts, page: Path) -> None:
    """Write the page, a mark before each part but the first."""
    marked = [(BEYOND, parts.beyond), (FOLLOWED, parts.followed)]
    texts = [parts.papers, *(text for mark, part in marked if part for text in (mark, part))]
    write_text(printable_document("\n".join(texts)), page)
