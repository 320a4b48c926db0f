"""S before the first event: drawn pair by pair in small networks, edge by edge in large ones."""

from collections import Counter

import pytest
import torch

from model.attention import start
from model.attention.start import Edges, pairs_of, random_associations, random_edges, random_pairs

SPARSE = (0.6, 0.3, 0.1)  # the non-edge first
NODES, DRAWS = 5, 1_500


def drawn_graphs(seed: int) -> list[Edges]:
    generator = torch.Generator().manual_seed(seed)
    return [random_edges(NODES, SPARSE, 2, generator) for _ in range(DRAWS)]


def shares(graphs: list[Edges]) -> dict[tuple[int, ...], float]:
    """How often each pair has each type, and how often a graph has so many edges."""
    edges = Counter(edge for graph in graphs for edge in zip(*(part.tolist() for part in graph), strict=True))
    sizes = Counter((len(graph.i),) for graph in graphs)
    return {key: count / DRAWS for key, count in (edges | sizes).items()}


def test_edge_by_edge_has_the_law_of_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = shares(drawn_graphs(0))
    monkeypatch.setattr(start, "MOST_LISTED", 0)
    by_edge = shares(drawn_graphs(1))
    for key in listed | by_edge:
        one, other = listed.get(key, 0.0), by_edge.get(key, 0.0)
        share = (one + other) / 2
        # four standard errors of the difference of two such shares
        assert one == pytest.approx(other, abs=4 * (share * (1 - share) * 2 / DRAWS) ** 0.5)


def test_random_pairs_are_different_pairs_of_different_nodes_and_all_of_them_can_be_had() -> None:
    nodes = 7
    i, j = random_pairs(nodes, pairs_of(nodes), torch.Generator().manual_seed(0))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [
        (a, b) for a in range(nodes) for b in range(a + 1, nodes)
    ]


def test_the_last_pairs_of_a_large_network_are_numbered_exactly() -> None:
    nodes = 3_000_000
    i, j = random_pairs(nodes, 100_000, torch.Generator().manual_seed(0))
    assert int(i.min()) >= 0
    assert bool((i < j).all())
    assert int(j.max()) < nodes


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.9, 0.05, 0.05)])
def test_a_large_network_starts_with_a_bounded_number_of_neighbours(prior: tuple[float, ...]) -> None:
    nodes = 20_000
    graph = random_edges(nodes, prior, 2, torch.Generator().manual_seed(0))
    assert 2 * len(graph.i) / nodes == pytest.approx(start.MOST_NEIGHBOURS, rel=0.01)
    assert float((graph.type == 0).double().mean()) == pytest.approx(0.5, abs=0.01)


def test_random_associations_are_as_many_as_the_associations() -> None:
    for nodes in (10, 5_000):
        graph = random_associations(nodes, 20, torch.Generator().manual_seed(0))
        assert len(set(zip(graph.i.tolist(), graph.j.tolist(), strict=True))) == 20
