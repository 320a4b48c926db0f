"""The paper's Tables 2, 3 and 4 for a terminal."""

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.lake import Lake
from pipeline.show.labels import NONE, REACHED
from pipeline.show.tables import Cell, PrintedTable, printed_tables


def print_tables(lake: Lake, console: Console) -> None:
    """Print every table of the warehouse, with published values below ours."""
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        tables = printed_tables(warehouse)
    for table in tables:
        console.print(terminal_table(table))
    if any(table.has_published for table in tables):
        console.print(f"Below ours: published. Green: reached ({REACHED}).", highlight=False)


def terminal_table(printed: PrintedTable) -> Table:
    """Return a printed table as a terminal table, with lines between sections."""
    notes = Text("\n".join(printed.notes), style="table.caption")
    table = Table(title=Text(printed.title), caption=notes if printed.notes else None)
    for heading in printed.stub:
        table.add_column(heading)
    for group in printed.groups:
        for column in group.columns:
            heading = f"{group.heading}\n{column}".rstrip()
            table.add_column(Text(heading), justify="right")
    for section in printed.sections:
        if section.title is not None:
            table.add_section()
            table.add_row(Text(section.title, style="dim"))
        for line in section.lines:
            cells = (terminal_cell(cell) for group in line.groups for cell in group)
            table.add_row(*(Text(word) for word in line.stub), *cells)
    return table


def terminal_cell(cell: Cell) -> Text:
    """Format a cell: ours, green or red by its bound, with the published value below."""
    style = {None: "", True: "green", False: "red"}[cell.reached]
    text = Text(NONE if cell.ours is None else cell.ours, style=f"bold {style}" if cell.best else style)
    return (
        text if cell.published is None else text.append(f"\n{cell.published}", style="not bold dim default")
    )
