"""The followed year on the results pages: a summary on one page, the full record on the other."""

from dataclasses import replace
from pathlib import Path

from pipeline.show.results_page.markdown import is_table_block, markdown_blocks
from pipeline.show.results_page.paper_evidence import evidence_head
from pipeline.show.results_page.parts import read_parts, write_parts
from pipeline.show.results_page.places import evidence_of


def write_followed_part(text: str, page: Path) -> None:
    """Replace the third part of both pages, on the followed year, and keep the others."""
    evidence = evidence_of(page)
    first, behind = read_parts(page), read_parts(evidence)
    write_parts(replace(first, followed=followed_in_short(text, evidence.name)), page)
    papers = behind.papers or evidence_head(page.name)
    write_parts(replace(behind, papers=papers, followed=followed_in_full(text)), evidence)


def followed_in_short(text: str, evidence: str) -> str:
    """Return the heading and the first two paragraphs, joined, with a link to the evidence."""
    heading, *rest = markdown_blocks(text)
    paragraphs = [block for block in rest if not is_table_block(block)][:2]
    address = f"{evidence}#{heading.lstrip('# ').lower().replace(' ', '-')}"
    link = f"Every predictor, quarter by quarter, is on the page of [evidence]({address})."
    return f"{heading}\n\n{' '.join([*paragraphs, link])}\n"


def followed_in_full(text: str) -> str:
    """Return the text without its first paragraph, which the results page has."""
    heading, *rest = markdown_blocks(text)
    first = next((block for block in rest if not is_table_block(block)), None)
    return "\n\n".join([heading, *(block for block in rest if block is not first)]) + "\n"
