"""Tables in a terminal: what they say is text."""

import io

from rich.console import Console

from pipeline.show.tables import Cell, Group, Line, PrintedTable, Section
from pipeline.show.terminal import terminal_table

NAME = "[/b] [red]them[/red]"  # as a relation may be called


def test_a_name_in_square_brackets_is_shown_as_it_is_wherever_it_stands() -> None:
    line = Line((NAME,), ((Cell(NAME, NAME),),))
    printed = PrintedTable("key", NAME, ("Known graph",), (Group(NAME),), (Section(NAME, (line,)),), (NAME,))
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(terminal_table(printed))
    assert console.export_text().count(NAME) == 7
