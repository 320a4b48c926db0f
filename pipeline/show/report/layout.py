"""Node positions of the explorer: a force-directed layout, computed once so that the page only draws.

networkx layouts with the same forces take 32 to 66 seconds for 2,000 nodes, this one 4 (`docs/report.md`).
"""

import networkx as nx
import numpy as np

ITERATIONS, ITERATIONS_OF_MANY, MANY = 120, 50, 500
GRAVITY = 0.6
RADIUS = 0.6  # of a community of all nodes; communities are laid out in the unit disc
BLOCK = 1_000


def community_layout(graph: nx.Graph, community: np.ndarray) -> np.ndarray:
    """Place the nodes 0…N−1 in the unit disc, with communities apart from one another: (N, 2).

    Members are laid out around their community's centre, in a circle whose area is their share of the nodes.
    """
    members = [np.flatnonzero(community == number) for number in range(community.max(initial=-1) + 1)]
    between = nx.empty_graph(len(members))
    for u, v, weight in graph.edges(data="weight", default=1.0):
        ends = int(community[u]), int(community[v])
        if ends[0] != ends[1]:
            between.add_edge(*ends, weight=between.get_edge_data(*ends, {"weight": 0.0})["weight"] + weight)
    place = np.empty((len(community), 2))
    for centre, nodes in zip(layout(between), members, strict=True):
        within = nx.convert_node_labels_to_integers(graph.subgraph(nodes), ordering="sorted")
        place[nodes] = centre + RADIUS * np.sqrt(len(nodes) / len(community)) * layout(within)
    return in_disc(place) if len(place) else place


def layout(graph: nx.Graph) -> np.ndarray:
    """Place the nodes 0…N−1 in the unit disc, deterministically: (N, 2).

    Fruchterman-Reingold forces: all nodes repel one another, tied ones attract, and gravity keeps nodes
    without ties from drifting off.
    """
    nodes = graph.number_of_nodes()
    ties = np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2)  # (E, 2)
    weight = np.array([weight for _, _, weight in graph.edges(data="weight", default=1.0)])  # (E,)
    weight = weight / max(weight.mean(), 1e-9) if weight.size else weight
    near = 1 / np.sqrt(nodes)  # equilibrium distance of a tie
    place = np.random.default_rng(0).uniform(-1, 1, (nodes, 2))  # (N, 2)
    iterations = ITERATIONS if nodes <= MANY else ITERATIONS_OF_MANY
    for step in range(iterations):
        force = repulsion(place, near) - GRAVITY * place
        if ties.size:
            along = place[ties[:, 1]] - place[ties[:, 0]]  # (E, 2)
            pull = along * (weight * np.linalg.norm(along, axis=1) / near)[:, None]  # (E, 2)
            for axis in range(2):
                force[:, axis] += np.bincount(ties[:, 0], pull[:, axis], nodes)
                force[:, axis] -= np.bincount(ties[:, 1], pull[:, axis], nodes)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)  # (N, 1)
        heat = 0.2 * (1 - step / iterations)
        place = place + force / length * np.minimum(length, heat)
    return in_disc(place)


def repulsion(place: np.ndarray, near: float) -> np.ndarray:
    """Compute the repulsion of each node by all others, near²/distance each, in blocks of rows: (N, 2)."""
    place = place.astype(np.float32)  # the N² part: half the memory, twice the speed, no visible difference
    force = np.empty_like(place)
    square = (place**2).sum(axis=1)  # (N,)
    for start in range(0, len(place), BLOCK):
        rows = place[start : start + BLOCK]  # (B, 2)
        distance = (
            square[start : start + BLOCK, None] + square[None, :] - 2 * rows @ place.T
        )  # (B, N), squared
        push = np.float32(near**2) / np.maximum(distance, np.float32(1e-6))
        force[start : start + BLOCK] = rows * push.sum(axis=1, keepdims=True) - push @ place
    return force.astype(np.float64)


def in_disc(place: np.ndarray) -> np.ndarray:
    """Centre and scale positions into the unit disc; outliers beyond the 95 % quantile move inwards."""
    place = place - place.mean(axis=0)
    radius = np.linalg.norm(place, axis=1)  # (N,)
    limit = max(float(np.quantile(radius, 0.95)), 1e-9)
    closer = np.where(radius > limit, limit * (1 + 0.12 * np.log(np.maximum(radius / limit, 1))), radius)
    place = place * (closer / np.maximum(radius, 1e-9))[:, None]
    return place / max(float(closer.max()), 1e-9)
