"""A user's own numeric columns come into the event table, and a table without any is as before."""

import re
from pathlib import Path

import polars as pl
import pytest

from pipeline.event_table import EventTable, check_event_table, read_event_table, write_event_table
from pipeline.export import arrays, edges, nodes
from pipeline.sources.own.dataset_toml import OwnDataError
from pipeline.sources.own.table import own_table

DOCUMENT = Path(__file__).parents[4] / "docs" / "your-own-data.md"
SECTION = DOCUMENT.read_text(encoding="utf-8").partition("## Your own columns")[2]


def block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)[place]


def shops(folder: Path, **changed: str) -> EventTable:
    """The documented example, with changes to its files."""
    folder.mkdir(exist_ok=True)
    files = {"dataset.toml": block("toml"), "payments.csv": block("csv"), "people.csv": block("csv", 1)}
    for name, text in files.items():
        (folder / name).write_text(changed.get(name.split(".")[0], text), encoding="utf-8")
    return own_table("shops", folder)


def test_the_documented_columns_are_in_the_event_table(tmp_path: Path) -> None:
    write_event_table(shops(tmp_path / "shops"), tmp_path / "table")
    table = read_event_table(tmp_path / "table")
    assert table.events["amount"].to_list() == [4.2, 310.0, 38.5, None, 3.9, 280.0]
    assert table.nodes["age"].to_list() == [31, 58, None, 44, 61, 70]
    assert table.own_columns("events") == ["amount"]
    assert check_event_table(table) == []


def test_a_table_without_own_columns_is_as_before(tmp_path: Path) -> None:
    toml = block("toml").replace('columns = ["amount"]\n', "").replace('columns = ["age"]\n', "")
    without = shops(tmp_path / "shops", dataset=toml)
    assert "own_columns" not in without.metadata
    with_columns = shops(tmp_path / "shops")
    assert with_columns.events.drop("amount").equals(without.events)
    assert with_columns.nodes.drop("age").equals(without.nodes)
    fingerprints = [
        write_event_table(table, tmp_path / name)["fingerprint"]
        for name, table in (("one", without), ("other", with_columns))
    ]
    assert len(set(fingerprints)) == 2


def test_an_export_has_the_own_columns(tmp_path: Path) -> None:
    table = shops(tmp_path / "shops")
    assert edges(table)["amount"].to_list() == table.events["amount"].to_list()
    assert nodes(table)["age"].to_list() == table.nodes["age"].to_list()
    assert arrays(table)["msg"][:, 1].tolist() == pytest.approx([4.2, 310.0, 38.5, 0.0, 3.9, 280.0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"payments": block("csv").replace("38.5", "much")}, "row 3: amount is 'much', which is no number"),
        ({"payments": block("csv").replace("38.5", "inf")}, "row 3: amount is 'inf', which is no number"),
        ({"people": block("csv", 1).replace("44", "old")}, r"row 4: age is 'old'.*\[nodes\] columns"),
        (
            {"dataset": block("toml").replace('"amount"', '"sum"')},
            r"\[events\] columns names 'sum', a column",
        ),
        ({"dataset": block("toml").replace('"amount"', '"kind"')}, "columns names 'kind', which an event"),
        ({"dataset": block("toml").replace('"amount"', '"amount", "amount"')}, "names 'amount' twice"),
        ({"dataset": block("toml").replace('["amount"]', '"amount"')}, r"takes a list of names of numeric"),
    ],
)
def test_a_column_that_cannot_be_taken_is_told(changed: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(OwnDataError, match=message):
        shops(tmp_path / "shops", **changed)


def test_numbers_of_parquet_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "shops").mkdir()
    rows = pl.read_csv(block("csv").encode(), try_parse_dates=True)
    rows.write_parquet(tmp_path / "shops" / "payments.parquet")
    table = shops(tmp_path / "shops", dataset=block("toml").replace("payments.csv", "payments.parquet"))
    assert table.events["amount"].to_list() == rows["amount"].to_list()
