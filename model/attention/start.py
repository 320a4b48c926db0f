"""S before the first event: a random graph drawn from LDG's prior, or DyRep's association graph."""

import torch
from torch import Tensor


def random_attention(
    nodes: int, probabilities: tuple[float, ...], edge_types: int, generator: torch.Generator
) -> Tensor:
    """A random symmetric graph (N, N, r): edge types drawn from the prior, rows summing to 1 per type."""
    prior = torch.tensor(probabilities)
    pairs = torch.triu_indices(nodes, nodes, offset=1)
    drawn = torch.multinomial(prior, pairs.shape[1], replacement=True, generator=generator)
    drawn -= len(probabilities) - edge_types  # the first type of a sparse prior is the non-edge
    edge = drawn >= 0
    i, j = pairs[:, edge]
    graph = torch.zeros(nodes, nodes, edge_types)
    graph[i, j, drawn[edge]] = graph[j, i, drawn[edge]] = 1
    return graph / graph.sum(1, keepdim=True).clamp_min(1)


def association_attention(adjacency: Tensor) -> Tensor:
    """S of DyRep before the first event: each row uniform over the node's associates (…, N, N, 1)."""
    graph = adjacency.to(torch.float32)
    return (graph / graph.sum(-1, keepdim=True).clamp_min(1)).unsqueeze(-1)
