"""Tables as Markdown."""

from collections.abc import Callable, Sequence

from pipeline.show.labels import NONE, mark
from pipeline.show.tables import Cell, Line, PrintedTable


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are text and whose others are numbers."""
    rule = ["---" if column < left else "--:" for column in range(len(headings))]
    lines = [line(headings), line(rule), *(line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def laid_out(printed: PrintedTable, shown: Callable[[Line], bool] = lambda _: True) -> str:
    """A printed table, or those of its lines that are `shown`, below the title of their section."""
    headings = [
        *printed.stub,
        *(f"{group.heading} {one}".strip() for group in printed.groups for one in group.columns),
    ]
    rows = []
    for section in printed.sections:
        lines = [line for line in section.lines if shown(line)]
        if section.title is not None and lines:
            rows.append([f"**{section.title}**", *[""] * (len(headings) - 1)])
        rows += [[*line.stub, *values(line, printed)] for line in lines]
    return table(headings, rows, left=len(printed.stub))


def values(line: Line, printed: PrintedTable) -> list[str]:
    """The cells of a line; one that holds for a whole group stands in its first column."""
    texts = []
    for cells, group in zip(line.groups, printed.groups, strict=True):
        texts += [value(cell) for cell in cells] + [""] * (len(group.columns) - len(cells))
    return texts


def value(cell: Cell) -> str:
    """One cell: `84 ± 2 (84) ✓`, the published value in brackets."""
    published = "" if cell.published is None else f" ({cell.published})"
    return f"{cell.ours or NONE}{published} {mark(cell.reached)}".rstrip()


def folded(summary: str, body: str) -> str:
    """Something long that opens at a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n"
