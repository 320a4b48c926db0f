"""Data of the page's explorer of the latent graph, compact enough to embed in the page."""

import base64
import zlib
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.names import FINAL
from pipeline.results.predictions import along, with_reasons
from pipeline.results.trained import TrainedVariant, current_variants, showcase, with_records
from pipeline.show.communities import communication_graph, communities
from pipeline.show.part import Part, part_of
from pipeline.show.report.layout import community_layout
from pipeline.text import printable

SNAPSHOTS = 60
EDGES_PER_VARIANT = 60_000
PARTNERS = 8
FEWEST_PARTNERS = 2


def explorer_data(lake: Lake, tables: list[EventTable]) -> list[dict[str, Any]]:
    """Return an entry per dataset with a trained variant; edges and predictions are packed, see `packed`."""
    return [
        dataset_data(part_of(table), trained) | {"last": f"{table.as_of:%d %b %Y, %H:%M}"}
        for table in tables
        if (trained := with_records(current_variants(lake, table.name), "attention"))
    ]


def dataset_data(part: Part, trained: list[TrainedVariant]) -> dict[str, Any]:
    """Return names, positions and communities of the nodes, and every variant's attention over time."""
    table = part.table
    graph = communication_graph(table)
    community = communities(graph)
    place = community_layout(graph, community)
    first = showcase(trained, table.metadata["relations"])
    ordered = [first, *(one for one in trained if one != first)]
    return {
        "name": table.name,
        "title": table.title,
        "of": part.of,
        "names": [printable(name) for name in table.nodes["name"]],
        "x": np.round(place[:, 0], 4).tolist(),
        "y": np.round(place[:, 1], 4).tolist(),
        "community": community.tolist(),
        "variants": [variant_data(one, part) for one in ordered],
    }


def variant_data(trained: TrainedVariant, part: Part) -> dict[str, Any]:
    """Return attention snapshots and predictions of one variant."""
    nodes, attention = part.table.nodes.height, part.of_first_seed(trained, "attention", "u", "v")
    moments = attention.select("snapshot", "label", "created_at").unique("snapshot").sort("snapshot")
    shown = moments[
        np.unique(np.linspace(0, moments.height - 1, min(SNAPSHOTS, moments.height)).round().astype(int))
    ]
    edges = strongest_pairs(attention.filter(pl.col("snapshot").is_in(shown["snapshot"].to_list())), nodes)
    counts = shown.select("snapshot").join(edges.group_by("snapshot").len(), on="snapshot", how="left")
    top = float(edges["weight"].max() or 1.0)  # ty: ignore[invalid-argument-type] - weights are floats
    weight = np.sqrt(np.clip(edges["weight"].to_numpy() / top, 0, 1))
    predictions = part.renumbered(with_reasons(trained), "node", "partner")
    density = np.nan_to_num(predictions["density"].to_numpy())
    top_density = float(density.max(initial=0.0)) or 1.0
    partners = np.zeros(nodes, dtype=np.uint8)
    for node, many in predictions.group_by("node").len().iter_rows():
        partners[node] = many
    return {
        "name": trained.key,
        "label": trained.label(part.table.metadata["relations"]),
        "times": [
            moment_label(label, when) for label, when in shown.select("label", "created_at").iter_rows()
        ],
        "snapshots": moments.height,
        "counts": counts["len"].fill_null(0).to_list(),
        "top": top,
        "predictions": predictions.height,
        "topDensity": top_density,
        "givesProbabilities": predictions["probability"].null_count() < predictions.height,
        "reasons": packed_reasons(predictions),
        "packed": packed(
            edges["u"].to_numpy().astype("<u2"),
            edges["v"].to_numpy().astype("<u2"),
            predictions["partner"].to_numpy().astype("<u2"),
            np.round(density / top_density * 65535).astype("<u2"),
            np.round(weight * 255).astype(np.uint8),
            partners,
        ),
    }


def packed_reasons(predictions: pl.DataFrame) -> str | None:
    """Pack the reasons of predictions, a line each in their order; None for a model without reasons."""
    if predictions["reasons"].null_count() == predictions.height:
        return None
    lines = [
        along(why or "", edge_type)
        for why, edge_type in predictions.select("reasons", "edge_type").iter_rows()
    ]
    return packed(np.frombuffer("\n".join(map(printable, lines)).encode(), np.uint8))


def strongest_pairs(attention: pl.DataFrame, nodes: int) -> pl.DataFrame:
    """Return per snapshot the undirected pairs that are among the strongest of one of their two nodes.

    A pair's weight is the mean of both directions, summed over edge types. The number of partners per node
    follows from the page's size limit, with a minimum, however many snapshots there are.
    """
    snapshots = max(1, attention["snapshot"].n_unique())
    partners = int(np.clip(EDGES_PER_VARIANT // (nodes * snapshots), FEWEST_PARTNERS, PARTNERS))
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
    """Format a snapshot's time."""
    if when is None:
        return "before the first event"
    return f"{when:%d %b %Y, %H:%M}" + (" (end of training)" if label == FINAL else "")


def packed(*arrays: np.ndarray) -> str:
    """Concatenate, deflate and base64-encode arrays; the page inflates them when a variant is chosen."""
    return base64.b64encode(zlib.compress(b"".join(array.tobytes() for array in arrays), 9)).decode()
