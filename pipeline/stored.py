"""What training and evaluation left on disk, read back for figures and the report."""

import json
from typing import Any

import networkx as nx
import numpy as np
import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake

PREFERRED_VARIANTS = (
    "ldg_learned_sparse-bilinear",
    "ldg_learned_sparse-concat",
    "ldg_learned_uniform-bilinear",
)


def datasets_with_tables(lake: Lake) -> list[str]:
    """Names of the datasets whose event table is finished."""
    return sorted(path.parent.name for path in (lake.home / "datasets").glob("*/dataset.json"))


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


def read_result(lake: Lake, result: str, dataset: str) -> pl.DataFrame | None:
    """A dataset's rows of a result table, or None when that table has not been made or does not hold it."""
    path = lake.results / f"{result}.parquet"
    if not path.exists():
        return None
    rows = pl.read_parquet(path).filter(pl.col("dataset") == dataset)
    return rows if rows.height else None


def split_variant(variant: str) -> tuple[str, str]:
    """Name and interaction: `ldg_learned_sparse-bilinear` is (`ldg_learned_sparse`, `bilinear`)."""
    name, _, interaction = variant.rpartition("-")
    return (name, interaction) if name else (variant, "")


def variant_name(name: str) -> str:
    """A name as the paper prints it: `ldg_learned_sparse_freq` is "LDG (learned, sparse) + Freq"."""
    family, *words = name.split("_")
    bias = " + Freq" if "freq" in words else ""
    inside = ", ".join(word for word in words if word != "freq")
    title = {"dyrep": "DyRep", "ldg": "LDG"}.get(family, family)
    return f"{title} ({inside}){bias}" if inside else f"{title}{bias}"


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
