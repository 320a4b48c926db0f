"""Initial graphs of S as edge lists: random graphs from LDG's prior, or DyRep's association graph.

Pairs are numbered, so that large graphs are drawn without enumerating pairs: edge count first, then edges.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.stream import Stream
from pipeline.variants import Variant

MOST_LISTED: int = 2_100_000  # pairs (of 2,049 nodes); up to here each pair draws its own type
MOST_NEIGHBOURS: int = 30  # on average, in larger graphs; a tenth of 100,000 nodes would be 10,000


class Edges(NamedTuple):
    """An undirected graph: each edge once, i < j."""

    i: Tensor  # (E) int64
    j: Tensor  # (E) int64
    type: Tensor  # (E) int64, from 0


def random_edges(
    nodes: int, probabilities: tuple[float, ...], edge_types: int, generator: torch.Generator
) -> Edges:
    """Draw a random graph with edge types from the prior.

    In large networks edges are thinned to `MOST_NEIGHBOURS` per node on average, so that the initial
    neighbourhood and the cost per node do not depend on the number of nodes.
    """
    prior = torch.tensor(probabilities)
    without_edge = len(probabilities) - edge_types  # the first type of a sparse prior is the non-edge
    if pairs_of(nodes) <= MOST_LISTED:
        i, j = torch.triu_indices(nodes, nodes, offset=1)
        drawn = torch.multinomial(prior, len(i), replacement=True, generator=generator) - without_edge
        edge = drawn >= 0
        return Edges(i[edge], j[edge], drawn[edge])
    of_edges = prior[without_edge:].double()
    share = min(float(of_edges.sum()), MOST_NEIGHBOURS / (nodes - 1))
    count = torch.binomial(*torch.tensor([pairs_of(nodes), share], dtype=torch.float64), generator=generator)
    i, j = random_pairs(nodes, int(count), generator)
    drawn = torch.multinomial(of_edges, max(len(i), 1), replacement=True, generator=generator)
    return Edges(i, j, drawn[: len(i)])


def association_edges(associations: np.ndarray) -> Edges:
    """Return the association graph of pairs (M, 2)."""
    i, j = torch.from_numpy(associations).unbind(1)
    return Edges(i, j, torch.zeros_like(i))


def random_associations(nodes: int, count: int, generator: torch.Generator) -> Edges:
    """Draw a random graph with `count` edges, the size of an association graph."""
    if pairs_of(nodes) <= MOST_LISTED:
        pairs = torch.triu_indices(nodes, nodes, offset=1)
        i, j = pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:count]]
    else:
        i, j = random_pairs(nodes, count, generator)
    return Edges(i, j, torch.zeros_like(i))


def pairs_of(nodes: int) -> int:
    """Return the number of unordered pairs of `nodes` nodes."""
    return nodes * (nodes - 1) // 2


def random_pairs(nodes: int, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw `count` distinct pairs, uniformly over sets of pairs: i < j, (count) each."""
    numbers = torch.empty(0, dtype=torch.int64)
    while len(numbers) < count:
        more = torch.randint(pairs_of(nodes), (count - len(numbers),), generator=generator)
        numbers = torch.cat([numbers, more]).unique()
    # Pair (i, j) has number j(j − 1)/2 + i.
    j = ((1 + (1 + 8 * numbers.double()).sqrt()) / 2).long()
    j -= (j * (j - 1) // 2 > numbers).long()  # corrects roots rounded up to the next integer
    return numbers - j * (j - 1) // 2, j


def initial_graph(stream: Stream, variant: Variant, generator: torch.Generator) -> Edges:
    """Return the initial graph of S for a variant."""
    if variant.prior is not None:
        return random_edges(stream.nodes, variant.prior_probabilities, variant.edge_types, generator)
    if variant.random_associations:
        return random_associations(stream.nodes, len(stream.associations), generator)
    return association_edges(stream.associations)
