"""What other tools get of an event table is the event table, whole."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pipeline.event_table import EventTable, read_event_table
from pipeline.export import FORMATS, edges, export
from pipeline.schemas import EXPORTED
from tests.small_world import small_table, write_table

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    return read_event_table(write_table(tmp_path / "table", names=['a, "b"', "c\nd"]))


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, try_parse_dates=True) if path.suffix == ".csv" else pl.read_parquet(path)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_both_table_formats_hold_the_same_events_nodes_and_associations(
    table: EventTable, form: str, tmp_path: Path
) -> None:
    export(table, form, tmp_path / "out")
    read_back = {name: read(tmp_path / "out" / f"{name}.{form}") for name in EXPORTED}
    rows = read_back["edges"]
    assert rows.columns == EXPORTED["edges"].names
    for ours, theirs in (("u", "src"), ("v", "dst"), ("idx", "idx"), ("split", "split"), ("type", "type")):
        assert rows[theirs].to_list() == table.events[ours].to_list()
    assert rows["created_at"].to_list() == table.events["created_at"].to_list()
    assert read_back["nodes"]["name"].to_list() == table.nodes["name"].to_list()
    assert read_back["associations"].height == table.associations.height


@pytest.mark.parametrize("form", FORMATS)
def test_the_counts_of_an_export_add_up_to_the_event_table(
    table: EventTable, form: str, tmp_path: Path
) -> None:
    export(table, form, tmp_path / "out")
    meaning = json.loads((tmp_path / "out" / "export.json").read_text())
    assert sum(meaning["events"].values()) == table.events.height
    stats = table.metadata["stats"]
    tested = stats["test_communications"] + stats["test_associations"]
    assert (meaning["nodes"], meaning["events"]["test"]) == (stats["nodes"], tested)
    assert meaning["fingerprint"] == table.metadata["fingerprint"]


def test_a_split_begins_where_the_export_says(table: EventTable, tmp_path: Path) -> None:
    starts = export(table, "csv", tmp_path / "out")["split_t"]
    rows = edges(table)
    cut = pl.when(pl.col("t") >= starts["test"]).then(pl.lit("test"))
    cut = cut.when(pl.col("t") >= starts["validation"]).then(pl.lit("validation")).otherwise(pl.lit("train"))
    assert rows.select(cut.alias("split")).equals(rows.select("split"))


def test_the_arrays_of_temporal_data_are_the_events_without_any_pickle(
    table: EventTable, tmp_path: Path
) -> None:
    types = export(table, "pyg", tmp_path / "out")["types"]
    arrays = dict(np.load(tmp_path / "out" / "temporal_data.npz", allow_pickle=False))
    assert arrays["src"].tolist() == table.events["u"].to_list()
    assert arrays["dst"].tolist() == table.events["v"].to_list()
    assert [types[place] for place in arrays["msg"].argmax(1)] == table.events["type"].to_list()
    assert arrays["y"].sum() == table.events.filter(pl.col("kind") == "communication").height
    masks = np.stack([arrays[f"{split}_mask"] for split in ("train", "val", "test")])
    assert (masks.sum(0) == 1).all()


def test_features_become_columns(tmp_path: Path) -> None:
    table = small_table(nodes=4)
    features = pl.Series([[float(node), 0.5] for node in range(4)], dtype=pl.List(pl.Float32))
    with_features = replace(table, nodes=table.nodes.with_columns(features=features))
    export(with_features, "csv", tmp_path / "out")
    assert read(tmp_path / "out" / "nodes.csv")["x_0"].to_list() == [0, 1, 2, 3]


def test_a_folder_that_holds_something_stays_as_it_is(table: EventTable, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="give the name of a new or empty folder"):
        export(table, "csv", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


def test_an_export_that_fails_leaves_nothing_behind(
    table: EventTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setitem(FORMATS, "csv", lambda table, folder: (FORMATS["parquet"](table, folder), fail()))
    with pytest.raises(OSError, match="the disk is full"):
        export(table, "csv", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


@pytest.mark.parametrize(("library", "form"), [("torch_geometric", "pyg"), ("tgm", "csv")])
def test_the_documented_lines_read_an_export(
    table: EventTable, library: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs where the peers are installed: `pip install -e .[peers]`."""
    pytest.importorskip(library)
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    (lines,) = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if library in code]
    export(table, form, tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    names: dict[str, Any] = {}
    exec(lines, names)
    train = names["train"]
    events = train.num_events if form == "pyg" else len(train.edge_index)
    assert events == (table.events["split"] == "train").sum()
