"""Stored predictions can be read by a person: with names, and with reasons where a model gives them."""

from pathlib import Path

import duckdb
import polars as pl

from pipeline.lake import Lake, write_parquet
from pipeline.results.predictions import along, predictions
from pipeline.results.warehouse import build_warehouse
from pipeline.schemas import NAMED_PREDICTIONS
from tests.small_world import store_table, store_variant


def test_predictions_of_every_training_have_names_and_reasons_where_there_are_any(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    table = store_table(lake, names=["Ada"])
    for variant in ("dyrep-concat", "rem-history"):
        store_variant(lake, table, variant)
    build_warehouse(lake)
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        rows = warehouse.sql(
            "select variant, name, partner_name, probability, reasons, edge_type from predictions "
            "where node = 0 and rank = 0 order by variant"
        ).fetchall()
        (count,) = warehouse.sql("select count(*) from predictions").fetchall()
    (_, ada, _, *nothing), (_, _, partner, probability, *why) = rows
    assert [row[0] for row in rows] == ["dyrep", "rem"]
    assert (ada, nothing) == ("Ada", [None, None, None])
    assert partner.startswith("node ")
    assert probability is not None
    assert why == ["met 3 h ago; 4 common partners", 1]
    assert count == (2 * 16 * 10,)


def test_reasons_of_an_earlier_version_name_no_edge(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    store_variant(lake, store_table(lake), "rem-history")
    path = lake.model("toy", "rem-history") / "reasons.parquet"
    write_parquet(pl.read_parquet(path).drop("edge_type"), path)
    rows = predictions(lake)
    assert rows["reasons"].null_count() == 0
    assert rows["edge_type"].null_count() == rows.height


def test_predictions_made_from_an_earlier_event_table_are_not_shown(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    store_variant(lake, store_table(lake), "rem-history")
    assert predictions(lake).height
    store_table(lake, seed=1)
    assert predictions(lake).equals(pl.DataFrame(schema=NAMED_PREDICTIONS.types))


def test_an_edge_is_named_where_an_event_comes_along_one() -> None:
    assert along("met 3 h ago", 0) == "met 3 h ago; along edge type 0"
    assert along("never met", None) == "never met"
