"""Tables and numbers as Markdown."""

from collections.abc import Sequence

NONE = "–"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are text and whose others are numbers."""
    rule = ["---" if column < left else "--:" for column in range(len(headings))]
    lines = [line(headings), line(rule), *(line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def number(value: float | None, decimals: int) -> str:
    """A number, or a dash where there is none."""
    return NONE if value is None else f"{value:.{decimals}f}"


def mark(reached: bool | None) -> str:
    """Whether a bound is kept; nothing where there is none."""
    return {None: "", True: "✓", False: "✗"}[reached]


def folded(summary: str, body: str) -> str:
    """Something long that opens at a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n"
