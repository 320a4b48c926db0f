"""The page on the models names functions, lines and tests that are there."""

import re
from functools import reduce
from importlib import import_module
from inspect import getsourcelines
from pathlib import Path

import pytest

from model import reference

ROOT = Path(__file__).parents[2]


PAPERS, RELATIONAL = "Equation, reference, engine, test", "The relational-event model"
LARGE = "Large networks"


def rows(section: str) -> list[list[str]]:
    """The cells of a section's first table, without its header."""
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    text = page.split(f"## {section}")[1].split("\n## ")[0]
    lines = text[text.index("\n|") + 1 :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(section: str, column: int, package: str) -> list[tuple[str, str]]:
    return [
        (package, name)
        for row in rows(section)
        for name in re.findall(r"`([\w.]+)`", row[column])
        if "." in name
    ]


@pytest.mark.parametrize(
    ("package", "name"),
    [
        *names(PAPERS, 1, "model"),
        *names(PAPERS, 2, "model"),
        *names(PAPERS, 3, "tests.model"),
        *names(RELATIONAL, 1, "model"),
        *names(RELATIONAL, 2, "tests.model"),
        *names(LARGE, 1, "model"),
        *names(LARGE, 2, "model"),
    ],
)
def test_every_name_in_the_table_of_equations_exists(package, name):
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        if (ROOT / Path(*package.split("."), *parts[:end]).with_suffix(".py")).exists():
            module = import_module(".".join([package, *parts[:end]]))
            assert reduce(getattr, parts[end:], module)
            return
    pytest.fail(f"no file of {package} for {name}")


def test_every_name_of_the_reference_leads_to_its_line():
    cells = " ".join(row[1] for row in rows(PAPERS))
    linked = re.findall(r"\[`reference\.([\w.]+)`\]\(\.\./model/reference\.py#L(\d+)\)", cells)
    assert len(linked) == cells.count("`reference.") > 0
    for name, line in linked:
        function = reduce(getattr, name.split("."), reference)
        assert int(line) == getsourcelines(function)[1], f"{name} has moved"


def test_the_table_of_large_networks_has_every_equation_of_events():
    spans = [re.findall(r"\d+(?:–\d+)?", row[0]) for row in rows(LARGE)]
    ends = [[int(n) for n in span.split("–")] for spans_of_row in spans for span in spans_of_row]
    # Eq. 1 is of static networks, which are refused; eq. 6 is eqs. 7 to 10 together.
    assert sorted(n for first, *last in ends for n in range(first, (last or [first])[0] + 1)) == [
        *range(2, 6),
        *range(7, 16),
    ]


def test_the_table_has_every_equation_of_the_paper_in_all_its_places():
    numbered = [row for row in rows(PAPERS) if re.match(r"\d", row[0])]
    numbers = [int(n) for row in numbered for n in re.findall(r"\d+", row[0].split(",")[0])]
    assert sorted(numbers) == list(range(1, 16))
    assert all(cell for row in numbered for cell in row)
