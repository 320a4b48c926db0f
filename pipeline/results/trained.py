"""What training and evaluation left on disk, read back for figures and the report."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from pipeline.event_table import EventTable
from pipeline.lake import Lake
from pipeline.results.published import MODELS
from pipeline.results.warehouse import result_rows

PREFERRED_VARIANTS = (
    "ldg_learned_sparse-bilinear",
    "ldg_learned_sparse-concat",
    "ldg_learned_uniform-bilinear",
)


def finished_variants(lake: Lake, dataset: str) -> list[str]:
    """Variants of a dataset whose training finished (`model.json` is written last)."""
    return sorted(path.parent.name for path in (lake.home / "models" / dataset).glob("*/model.json"))


def read_model_facts(lake: Lake, dataset: str, variant: str) -> dict[str, Any]:
    """What `model.json` says of a trained variant."""
    return json.loads((lake.model(dataset, variant) / "model.json").read_text(encoding="utf-8"))


def showcase_variant(variants: list[str]) -> str:
    """The variant whose learned graph is shown where there is room for one: the paper's, once trained."""
    learned = [variant for variant in variants if "learned" in variant]
    preferred = [variant for variant in PREFERRED_VARIANTS if variant in variants]
    return (preferred + learned + variants)[0]


def current_variants(lake: Lake, table: EventTable, records: str) -> list[str]:
    """Finished variants trained on this very event table that have rows in `<records>.parquet`.

    A static graph network has no attention, for instance, and a variant trained on an earlier table may
    speak of other nodes.
    """
    return [
        variant
        for variant in finished_variants(lake, table.name)
        if read_model_facts(lake, table.name, variant)["fingerprint"] == table.metadata["fingerprint"]
        and has_rows(lake.model(table.name, variant) / f"{records}.parquet")
    ]


def has_rows(path: Path) -> bool:
    """Whether a Parquet file is there and holds anything."""
    return path.exists() and pq.read_metadata(path).num_rows > 0


def read_result(lake: Lake, result: str, table: EventTable) -> pl.DataFrame | None:
    """The rows of a result table made from this very event table, or None when there is none."""
    belongs = (pl.col("dataset") == table.name) & (pl.col("fingerprint") == table.metadata["fingerprint"])
    parts = [rows.filter(belongs) for rows in result_rows(lake, result)]
    return next((rows for rows in parts if rows.height), None)


def split_variant(variant: str) -> tuple[str, str]:
    """Name and interaction: `ldg_learned_sparse-bilinear` is (`ldg_learned_sparse`, `bilinear`)."""
    name, _, interaction = variant.rpartition("-")
    return (name, interaction) if name else (variant, "")


def variant_name(name: str) -> str:
    """A name as the paper prints it: `ldg_learned_sparse_freq` is "LDG (learned, sparse) + Freq"."""
    printed = dict(MODELS)
    if name in printed:
        return printed[name]
    family, *words = name.replace("one_pass", "one pass").split("_")
    title = {"dyrep": "DyRep", "ldg": "LDG", "gcn": "GCN", "gat": "GAT"}.get(family, family)
    return f"{title} ({', '.join(words)})" if words else title


def variant_label(variant: str) -> str:
    """A variant as a person reads it: "LDG (learned, sparse), bilinear"."""
    name, interaction = split_variant(variant)
    return f"{variant_name(name)}, {interaction}" if interaction else variant_name(name)


def pair_counts(table: EventTable) -> pl.DataFrame:
    """Undirected pairs communicating before the test period, the most frequent first (columns u, v, len)."""
    return (
        table.events.filter((pl.col("split") != "test") & (pl.col("kind") == "communication"))
        .select(u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .group_by("u", "v")
        .len()
        .sort("len", "u", "v", descending=[True, False, False])
    )


def communication_graph(table: EventTable) -> nx.Graph:
    """Who communicates with whom before the test period; weights grow with the logarithm of the count."""
    graph = nx.Graph()
    graph.add_nodes_from(range(table.nodes.height))
    graph.add_weighted_edges_from((u, v, float(np.log1p(n))) for u, v, n in pair_counts(table).iter_rows())
    return graph


def communities(graph: nx.Graph) -> np.ndarray:
    """The Louvain community of each node, the largest community numbered 0; the same for the same graph."""
    found = nx.community.louvain_communities(graph, seed=0)
    found.sort(key=lambda members: (-len(members), min(members)))
    community = np.zeros(graph.number_of_nodes(), dtype=np.int64)
    for number, members in enumerate(found):
        community[list(members)] = number
    return community
