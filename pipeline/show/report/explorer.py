"""What the page's explorer of the latent graph needs, small enough to travel inside the page."""

import base64
import zlib
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake, read_parquet
from pipeline.results.trained import (
    communication_graph,
    communities,
    current_variants,
    showcase_variant,
    variant_label,
)
from pipeline.show.report.layout import layout
from pipeline.text import printable

SNAPSHOTS = 60
EDGES_A_VARIANT = 60_000
PARTNERS = 8
FEWEST_PARTNERS = 2
NODES = 65_535


def explorer_data(lake: Lake, tables: list[EventTable]) -> list[dict[str, Any]]:
    """One entry a dataset that has a trained variant; edges and predictions are packed, see `packed`."""
    return [
        dataset_data(lake, table, variants)
        for table in tables
        if (variants := current_variants(lake, table, "attention"))
    ]


def dataset_data(lake: Lake, table: EventTable, variants: list[str]) -> dict[str, Any]:
    """Names, places and communities of the nodes, and the attention of every variant through time."""
    if table.nodes.height > NODES:
        raise ValueError(
            f"dataset {table.name!r} has {table.nodes.height:,} nodes; the explorer takes {NODES:,} at most"
        )
    graph = communication_graph(table)
    community = communities(graph)
    place = layout(graph)
    first = showcase_variant(variants)
    ordered = [first, *(variant for variant in variants if variant != first)]
    return {
        "name": table.name,
        "title": table.title,
        "names": [printable(name) for name in table.nodes["name"]],
        "x": np.round(place[:, 0], 4).tolist(),
        "y": np.round(place[:, 1], 4).tolist(),
        "community": community.tolist(),
        "variants": [variant_data(lake, table, variant) for variant in ordered],
    }


def variant_data(lake: Lake, table: EventTable, variant: str) -> dict[str, Any]:
    """Attention snapshots and predictions of one variant."""
    folder, nodes = lake.model(table.name, variant), table.nodes.height
    attention = read_parquet(folder / "attention.parquet").filter(pl.col("seed") == pl.col("seed").min())
    moments = attention.select("snapshot", "label", "created_at").unique("snapshot").sort("snapshot")
    kept = moments[
        np.unique(np.linspace(0, moments.height - 1, min(SNAPSHOTS, moments.height)).round().astype(int))
    ]
    edges = strongest_pairs(attention.filter(pl.col("snapshot").is_in(kept["snapshot"].to_list())), nodes)
    counts = kept.select("snapshot").join(edges.group_by("snapshot").len(), on="snapshot", how="left")
    top = float(edges["weight"].max() or 1.0)  # ty: ignore[invalid-argument-type] - weights are floats
    weight = np.sqrt(np.clip(edges["weight"].to_numpy() / top, 0, 1))
    predictions = (
        read_parquet(folder / "predictions.parquet")
        .filter(pl.col("seed") == pl.col("seed").min())
        .sort("node", "rank")
        .with_columns(share=pl.col("density") / pl.col("density").max().over("node"))
    )
    told = np.zeros(nodes, dtype=np.uint8)
    for node, many in predictions.group_by("node").len().iter_rows():
        told[node] = many
    return {
        "name": variant,
        "label": variant_label(variant),
        "times": [
            moment_label(label, when) for label, when in kept.select("label", "created_at").iter_rows()
        ],
        "snapshots": moments.height,
        "counts": counts["len"].fill_null(0).to_list(),
        "top": top,
        "predictions": predictions.height,
        "packed": packed(
            edges["u"].to_numpy().astype("<u2"),
            edges["v"].to_numpy().astype("<u2"),
            predictions["partner"].to_numpy().astype("<u2"),
            np.round(weight * 255).astype(np.uint8),
            np.round(np.nan_to_num(predictions["share"].to_numpy()) * 255).astype(np.uint8),
            told,
        ),
    }


def strongest_pairs(attention: pl.DataFrame, nodes: int) -> pl.DataFrame:
    """Per snapshot the undirected pairs that are among the strongest of one of their two nodes.

    A pair's weight is the mean of both directions, summed over edge types. How many partners a node keeps
    follows from what the page can carry, so that every node keeps some however many snapshots there are.
    """
    snapshots = max(1, attention["snapshot"].n_unique())
    partners = int(np.clip(EDGES_A_VARIANT // (nodes * snapshots), FEWEST_PARTNERS, PARTNERS))
    pairs = (
        attention.filter(pl.col("u") != pl.col("v"))
        .group_by("snapshot", u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .agg(weight=pl.col("weight").sum() / 2)
    )
    ends = pl.concat([pairs.with_columns(node="u"), pairs.with_columns(node="v")])
    place = pl.col("weight").rank("ordinal", descending=True).over("snapshot", "node")
    return (
        ends.sort("snapshot", "u", "v")
        .filter(place <= partners)
        .select("snapshot", "u", "v", "weight")
        .unique()
        .sort("snapshot", "u", "v")
    )


def moment_label(label: str | None, when: datetime | None) -> str:
    """A snapshot's time in words."""
    if when is None:
        return "before the first event"
    return f"{when:%d %b %Y, %H:%M}" + (" (end of training)" if label == "final" else "")


def packed(*arrays: np.ndarray) -> str:
    """Arrays one after another, deflated, in base64: the page inflates them when a variant is chosen."""
    return base64.b64encode(zlib.compress(b"".join(array.tobytes() for array in arrays), 9)).decode()
