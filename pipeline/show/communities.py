"""The communication graph before the test period, and its communities."""

import networkx as nx
import numpy as np

from pipeline.event_table import EventTable
from pipeline.names import COMMUNICATION_KIND
from pipeline.results.pairs import pair_list, training_events


def communication_graph(table: EventTable) -> nx.Graph:
    """Build the graph of communications before the test period; weights are log(1 + count)."""
    graph = nx.Graph()
    graph.add_nodes_from(range(table.nodes.height))
    pairs = pair_list(training_events(table, COMMUNICATION_KIND))
    graph.add_weighted_edges_from((u, v, float(np.log1p(many))) for u, v, many in pairs.iter_rows())
    return graph


def communities(graph: nx.Graph) -> np.ndarray:
    """Return the Louvain community of each node (N,), the largest numbered 0; deterministic."""
    parts = nx.community.louvain_communities(graph, seed=0)
    parts.sort(key=lambda members: (-len(members), min(members)))
    community = np.zeros(graph.number_of_nodes(), dtype=np.int64)
    for number, members in enumerate(parts):
        community[list(members)] = number
    return community
