"""What a format forbids is shown by its code, names in data stay as they are; numbers differ in print too."""

import json
import re
from xml.dom import minidom

import duckdb
import pytest
from rich.console import Console

from pipeline.event_table import read_event_table
from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
from pipeline.show.figures import draw_figures
from pipeline.show.report import write_report
from pipeline.show.terminal import print_tables
from pipeline.text import IN_A_DOCUMENT, printable, printable_document, told_apart
from tests.small_world import store_results

NAMES = [
    *(f"control {code:02x} {chr(code)}" for code in (*range(0x20), 0x7F, 0x85, 0x9F)),
    "no character \ufffe \uffff \ufdd0",
    "turned \u202egnp.exe\u202c \u2066isolated\u2069",
    "lines \u2028 \u2029",
]


@pytest.fixture(scope="module")
def forbidden_names(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home whose every node has a name that some format forbids, with all that is made for people.

    Its own name would be a pattern: figures and report are made in a home of any name.
    """
    lake = Lake(tmp_path_factory.mktemp("homes") / "a [1] *b")
    store_results(lake, title="Toy \x00\x1b[31m\u202e network", nodes=len(NAMES), names=NAMES)
    draw_figures(lake, "toy")
    build_warehouse(lake)
    write_report(lake)
    return lake


def test_figures_of_any_names_are_drawn_and_are_xml(forbidden_names: Lake) -> None:
    drawings = sorted((forbidden_names.home / "figures" / "toy").glob("*.svg"))
    assert len(drawings) == 6
    for drawing in drawings:
        minidom.parseString(drawing.read_bytes())
        assert not IN_A_DOCUMENT.search(drawing.read_text(encoding="utf-8"))


def test_the_report_holds_nothing_that_html_forbids_and_its_data_stay_json(forbidden_names: Lake) -> None:
    page = forbidden_names.report.read_text(encoding="utf-8")
    assert not IN_A_DOCUMENT.search(page)
    data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    (dataset,) = json.loads(data[1])
    assert dataset["names"] == [printable(name) for name in NAMES]


def test_a_terminal_gets_nothing_to_obey(forbidden_names: Lake) -> None:
    console = Console(width=200, record=True, force_terminal=False)
    print_tables(forbidden_names, console)
    assert not IN_A_DOCUMENT.search(console.export_text())


def test_names_in_data_stay_as_they_are(forbidden_names: Lake) -> None:
    assert read_event_table(forbidden_names.dataset("toy")).nodes["name"].to_list() == NAMES
    with duckdb.connect(str(forbidden_names.warehouse), read_only=True) as warehouse:
        rows = warehouse.execute("select name from dataset_nodes order by node").fetchall()
    assert [name for (name,) in rows] == NAMES


def test_what_is_replaced_stays_told_apart_and_common_text_stays() -> None:
    assert printable("a\x00b\n\ud800") == "a\\u0000b\\u000a\\ud800"
    assert len({printable(name) for name in NAMES}) == len(NAMES)
    assert printable("Zoë – 你好 👩‍👩‍👧 العربية") == "Zoë – 你好 👩‍👩‍👧 العربية"
    assert printable_document("two\n\tlines\r\n") == "two\n\tlines\r\n"


@pytest.mark.parametrize(
    ("one", "other", "texts"),
    [
        (37.3, 27.4, ("37.3", "27.4")),
        (0.0593, 0.0842, ("0.06", "0.08")),
        (0.0842, 0.0844, ("0.0842", "0.0844")),
        (0.25, 0.25, ("0.2", "0.2")),
        (7.0, 7.0 + 1e-12, ("7.000000000000", "7.000000000001")),
        (1e-30, 2e-30, ("0.00000000000000000", "0.00000000000000000")),
        (float("nan"), float("nan"), ("nan", "nan")),
    ],
)
def test_numbers_that_differ_have_the_decimals_that_tell_them_apart(
    one: float, other: float, texts: tuple[str, str]
) -> None:
    assert told_apart(one, other, 1) == texts
    assert told_apart(other, one, 1) == texts[::-1]
