"""Markdown: tables of any cells and the paper's printed ones, what opens at a click, the blocks of a text."""

from collections.abc import Callable, Sequence

from pipeline.show.labels import NONE, mark
from pipeline.show.tables import Cell, Line, PrintedTable


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table whose first `left` columns are text and whose others are numbers."""
    rule = ["---" if column < left else "--:" for column in range(len(headings))]
    lines = [markdown_line(headings), markdown_line(rule), *(markdown_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def markdown_line(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def markdown_of_printed(printed: PrintedTable, shown: Callable[[Line], bool] = lambda _: True) -> str:
    """A printed table as Markdown, or those of its lines that are `shown`, each below its section's title."""
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
    """One printed cell: `84 ± 2 (84) ✓`, the published value in brackets."""
    published = "" if cell.published is None else f" ({cell.published})"
    return f"{cell.ours or NONE}{published} {mark(cell.reached)}".rstrip()


def folded(summary: str, body: str) -> str:
    """Something long that opens at a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n"
