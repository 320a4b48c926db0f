"""A year as if followed: what it took and whether learning was ahead, the whole record on the other page."""


def in_short(text: str, evidence: str) -> str:
    """The heading, and as one paragraph the first two, which say what was done and what came of it."""
    heading, *rest = blocks(text)
    paragraphs = [block for block in rest if not is_table(block)][:2]
    address = f"{evidence}#{heading.lstrip('# ').lower().replace(' ', '-')}"
    link = f"Every predictor, quarter by quarter, is on the page of [evidence]({address})."
    return f"{heading}\n\n{' '.join([*paragraphs, link])}\n"


def in_full(text: str) -> str:
    """All of it but the first paragraph, which the page of results has."""
    heading, *rest = blocks(text)
    first = next((block for block in rest if not is_table(block)), None)
    return "\n\n".join([heading, *(block for block in rest if block is not first)]) + "\n"


def blocks(text: str) -> list[str]:
    """Headings, paragraphs and tables."""
    return text.strip().split("\n\n")


def is_table(block: str) -> bool:
    """Whether it is a table."""
    return block.startswith("|")
