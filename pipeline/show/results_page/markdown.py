"""Markdown: tables of cells and printed tables, collapsible sections, and splitting into blocks."""

from collections.abc import Callable, Sequence

from pipeline.show.labels import NONE, mark
from pipeline.show.tables import Cell, Line, PrintedTable


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table with `left` left-aligned text columns, then right-aligned number columns."""
    rule = ["---" if column < left else "--:" for column in range(len(headings))]
    lines = [markdown_line(headings), markdown_line(rule), *(markdown_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def markdown_line(cells: Sequence[str]) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def markdown_of_printed(printed: PrintedTable, shown: Callable[[Line], bool] = lambda _: True) -> str:
    """Return a printed table as Markdown, with the lines that are `shown`, below their section titles."""
    headings = [
        *printed.stub,
        *(f"{group.heading} {one}".strip() for group in printed.groups for one in group.columns),
    ]
    rows = []
    for section in printed.sections:
        lines = [line for line in section.lines if shown(line)]
        if section.title is not None and lines:
            rows.append([f"**{section.title}**", *[""] * (len(headings) - 1)])
        rows += [
            [*line.stub, *(markdown_cell(cell) for group in line.groups for cell in group)] for line in lines
        ]
    return markdown_table(headings, rows, left=len(printed.stub))


def markdown_cell(cell: Cell) -> str:
    """Format a printed cell: `84 ± 2 (84) ✓`, the published value in brackets."""
    published = "" if cell.published is None else f" ({cell.published})"
    return f"{cell.ours or NONE}{published} {mark(cell.reached)}".rstrip()


def folded(summary: str, body: str) -> str:
    """Wrap a text in a collapsed section."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n"
