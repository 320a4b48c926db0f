"""Subgraphs: final associations of a few nodes beside the attention among them at two times."""

import altair as alt
import networkx as nx
import numpy as np
import polars as pl

from pipeline.names import FINAL
from pipeline.results.trained import TrainedVariant
from pipeline.show.communities import communication_graph, communities
from pipeline.show.figures.style import BLUE, INK, PALETTE, QUIET, Figure, marks
from pipeline.show.part import Part

NODES = 24
EDGES = 60
LETTERS = 14
SIDE = 290


def subgraphs_figure(part: Part, trained: TrainedVariant) -> Figure:
    """Draw associations, and attention half-way and at the end of training, with fixed node positions."""
    table = part.table
    graph = communication_graph(table)
    relation = table.metadata["relations"][0]
    final = table.associations.filter((pl.col("relation") == relation) & (pl.col("snapshot") == FINAL))
    for u, v in final.select("u", "v").iter_rows():
        graph.add_edge(u, v, weight=graph.get_edge_data(u, v, {"weight": 0.0})["weight"] + 1.0)
    chosen = busiest_circle(graph)
    attention = part.of_first_seed(trained, "attention", "u", "v")
    model = trained.label(table.metadata["relations"])
    snapshots = sorted(attention.filter(pl.col("snapshot") > 0)["snapshot"].unique())
    times = list(dict.fromkeys([snapshots[(len(snapshots) - 1) // 2], snapshots[-1]])) if snapshots else []
    among = {when: pairs_among(attention.filter(pl.col("snapshot") == when), chosen) for when in times}
    associated = pairs_among(final.with_columns(weight=pl.lit(1.0)), chosen)

    place = nx.spring_layout(graph.subgraph(chosen), seed=1, iterations=200, k=1.1 / np.sqrt(len(chosen)))
    community = communities(communication_graph(table))
    names = table.nodes["name"]
    points = pl.DataFrame(
        [
            {
                "x": float(place[node][0]),
                "y": float(place[node][1]),
                "name": names[node] if len(names[node]) <= LETTERS else names[node][: LETTERS - 1] + "…",
                "colour": PALETTE[community[node]] if community[node] < len(PALETTE) else QUIET,
            }
            for node in chosen
        ]
    )
    panels = [subgraph_panel(points, associated, place, f"Final associations: {relation}", INK)]
    for when, pairs in among.items():
        moment = attention.filter(pl.col("snapshot") == when)["created_at"][0]
        panels.append(subgraph_panel(points, pairs, place, f"Attention, {moment:%d %B %Y}", BLUE))
    return Figure(
        "subgraphs",
        f"Associations against attention: {model}",
        f"{len(chosen)} closely connected nodes drawn in the same places: {associated.height} final "
        f"{relation} ties, then the strongest attention of {model} among the same nodes at "
        f"{len(times)} times. Wider lines are stronger.",
        alt.hconcat(*panels, spacing=14),
    )


def busiest_circle(graph: nx.Graph) -> list[int]:
    """Grow a set of nodes greedily from the strongest pair, adding the node with the strongest ties to it."""
    start = max(graph.edges(data="weight"), key=lambda edge: (edge[2], -edge[0], -edge[1]), default=None)
    if start is None:
        return list(graph)[:NODES]
    chosen, tie = [start[0], start[1]], dict.fromkeys(graph, 0.0)
    for node in chosen:
        for other, data in graph[node].items():
            tie[other] += data["weight"]
    while len(chosen) < min(NODES, graph.number_of_nodes()):
        best = max((node for node in graph if node not in chosen), key=lambda node: (tie[node], -node))
        if tie[best] == 0:
            break
        chosen.append(best)
        for other, data in graph[best].items():
            tie[other] += data["weight"]
    return sorted(chosen)


def pairs_among(entries: pl.DataFrame, chosen: list[int]) -> pl.DataFrame:
    """Return the strongest undirected pairs among the chosen nodes, by mean weight over both directions."""
    return (
        entries.filter(pl.col("u").is_in(chosen) & pl.col("v").is_in(chosen))
        .group_by(u=pl.min_horizontal("u", "v"), v=pl.max_horizontal("u", "v"))
        .agg(pl.col("weight").mean())
        .sort("weight", "u", "v", descending=[True, False, False])
        .head(EDGES)
    )


def subgraph_panel(
    points: pl.DataFrame, pairs: pl.DataFrame, place: dict[int, np.ndarray], title: str, colour: str
) -> alt.LayerChart:
    """Draw the nodes with the given ties."""
    lines = pl.DataFrame(
        [
            {
                "x": float(place[u][0]),
                "y": float(place[u][1]),
                "x2": float(place[v][0]),
                "y2": float(place[v][1]),
                "weight": weight,
            }
            for u, v, weight in pairs.iter_rows()
        ],
        schema=dict.fromkeys(("x", "y", "x2", "y2", "weight"), pl.Float64),
    )
    x = alt.X("x:Q", axis=None, scale={"zero": False, "nice": False, "padding": 26})
    y = alt.Y("y:Q", axis=None, scale={"zero": False, "nice": False, "padding": 18})
    same = lines["weight"].n_unique() <= 1
    width = alt.value(1.1) if same else alt.StrokeWidth("weight:Q", legend=None, scale={"range": [0.4, 4]})
    opacity = alt.value(0.45) if same else alt.Opacity("weight:Q", legend=None, scale={"range": [0.25, 0.85]})
    edges = marks(lines, alt.MarkDef("rule", color=colour, strokeCap="round")).encode(
        x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), strokeWidth=width, opacity=opacity
    )
    dots = marks(points, alt.MarkDef("circle", size=90, opacity=1, stroke="white", strokeWidth=1.2)).encode(
        x, y, color=alt.Color("colour:N", scale=None)
    )
    halo = marks(points, alt.MarkDef("text", dy=-11, fontSize=9.5, stroke="white", strokeWidth=3))
    words = marks(points, alt.MarkDef("text", dy=-11, fontSize=9.5, color=INK))
    named = [text.encode(x, y, text="name:N") for text in (halo, words)]
    return alt.LayerChart(layer=[edges, dots, *named], width=SIDE, height=SIDE, title=title)
