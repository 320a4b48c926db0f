"""AUC of the learned graph with every known one while training goes on, for the first seed."""

import altair as alt
import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

from pipeline.event_table import EventTable
from pipeline.lake import Lake, read_parquet
from pipeline.results.trained import split_variant, variant_label
from pipeline.show.figures.style import FAINT, PALETTE, QUIET, Figure, marks
from pipeline.show.results_page.measured import Measured

WIDTH = 420


def agreement_lines(lake: Lake, table: EventTable, data: Measured, variant: str) -> Figure | None:
    """A line a relation's final graph over the snapshots that are kept; None where nothing is picked."""
    attention = read_parquet(lake.model(data.name, variant) / "attention.parquet")
    seed = attention["seed"].min()
    edge_type = picked_edge_type(data, variant, seed)
    if edge_type is None:
        return None
    nodes = table.nodes.height
    graphs = {relation: known_graph(table, relation) for relation in data.relations}
    rows = []
    first = attention.filter(pl.col("seed") == seed, pl.col("edge_type") == edge_type)
    for (snapshot,), entries in first.sort("snapshot").group_by("snapshot", maintain_order=True):
        scores = matrix(entries, entries["weight"].to_numpy(), nodes)
        rows += [
            (snapshot, relation, 100 * auc(graph, scores))
            for relation, graph in graphs.items()
            if 0 < off_diagonal(graph).sum() < nodes * (nodes - 1)
        ]
    last = max((row[0] for row in rows), default=0)
    frame = pl.DataFrame(rows, schema=["snapshot", "relation", "auc"], orient="row").with_columns(
        share=100 * pl.col("snapshot") / max(last, 1)
    )
    ends = frame.filter(pl.col("snapshot") == last)
    told = ", ".join(
        f"{relation} {value:.0f}" for relation, value in ends.select("relation", "auc").iter_rows()
    )
    return Figure(
        "agreement",
        f"{data.title}: AUC of the learned graph over the training events, {variant_label(variant)}",
        f"AUC in % of the attention of {variant_label(variant)} with the final graph of each relation, first "
        f"seed, picked edge type, from its random start through the training events; at the end: {told}.",
        lines(frame, list(graphs)),
    )


def picked_edge_type(data: Measured, variant: str, seed: object) -> int | None:
    """The edge type that stands for a seed in Table 4."""
    name, interaction = split_variant(variant)
    rows = data.auc.filter(
        pl.col("variant") == name,
        pl.col("interaction") == interaction,
        pl.col("seed") == seed,
        pl.col("picked"),
        pl.col("edge_type").is_not_null(),
    )
    return rows["edge_type"][0] if rows.height else None


def known_graph(table: EventTable, relation: str) -> np.ndarray:
    """The final graph of a relation as 0 and 1: (N, N)."""
    entries = table.associations.filter(pl.col("relation") == relation, pl.col("snapshot") == "final")
    return matrix(entries, np.ones(entries.height), table.nodes.height)


def matrix(entries: pl.DataFrame, values: np.ndarray, nodes: int) -> np.ndarray:
    """Entries of a graph as a matrix: (N, N)."""
    dense = np.zeros((nodes, nodes))
    dense[entries["u"].to_numpy(), entries["v"].to_numpy()] = values
    return dense


def off_diagonal(dense: np.ndarray) -> np.ndarray:
    """The values of all ordered pairs of different nodes: (N (N − 1),)."""
    return dense[~np.eye(len(dense), dtype=bool)]


def auc(graph: np.ndarray, scores: np.ndarray) -> float:
    """How well scores separate the graph's edges from all other pairs."""
    return float(roc_auc_score(off_diagonal(graph), off_diagonal(scores)))


def lines(frame: pl.DataFrame, relations: list[str]) -> alt.LayerChart:
    """The chart: share of the training events against AUC, chance as a dashed line."""
    x = alt.X("share:Q", title="Share of the training events (%)", axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y("auc:Q", title="AUC (%)", scale=alt.Scale(zero=False))
    colour = alt.Color(
        "relation:N",
        title=None,
        scale=alt.Scale(domain=relations, range=list(PALETTE[: len(relations)])),
        legend=alt.Legend(orient="right", labelLimit=220),
    )
    chance = marks(pl.DataFrame({"auc": [50.0]}), alt.MarkDef("rule", color=FAINT, strokeDash=[4, 3])).encode(
        y
    )
    line = marks(frame, alt.MarkDef("line", strokeWidth=1.8, point=alt.OverlayMarkDef(size=26))).encode(
        x, y, colour
    )
    word = marks(
        pl.DataFrame({"auc": [50.0]}),
        alt.MarkDef("text", color=QUIET, fontSize=10, align="right", dx=-4, dy=-6, text="chance"),
    ).encode(y, x=alt.value(WIDTH))
    return alt.LayerChart(layer=[chance, word, line], width=WIDTH, height=220)
