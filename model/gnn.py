"""Static graph networks (GCN and GAT): embeddings from the association graph, without per-event updates."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from model.attention.rows import NOBODY, AttentionRows
from model.functions import sigmoid
from pipeline.variants import Variant


def adjacency_of(attention: AttentionRows) -> Tensor:
    """Return the adjacency matrix with self-loops: (S, N, N) bool."""
    seeds, nodes, _ = attention.order.shape
    adjacency = np.zeros((seeds, nodes, nodes), dtype=bool)
    s, i, slot = np.nonzero(attention.order != NOBODY)
    adjacency[s, i, attention.order[s, i, slot]] = True
    adjacency[:, np.arange(nodes), np.arange(nodes)] = True
    return torch.from_numpy(adjacency)


def gnn_embeddings(variant: Variant, features: Tensor, adjacency: Tensor, named: dict[str, Tensor]) -> Tensor:
    """Compute Z (S, N, d) by two graph layers."""
    pass_on = PASS_ON[variant.attention]
    hidden = functional.relu(pass_on(features @ named["gnn.w1"], adjacency, named.get("gnn.a1")))
    return sigmoid(pass_on(hidden @ named["gnn.w2"], adjacency, named.get("gnn.a2")))


def convolve(x: Tensor, adjacency: Tensor, _: Tensor | None) -> Tensor:
    """Sum over neighbours with symmetric normalization (GCN)."""
    graph = adjacency.to(x.dtype)
    scale = graph.sum(2, keepdim=True).rsqrt()  # (S, N, 1)
    return scale * (graph @ (scale * x))


def attend(x: Tensor, adjacency: Tensor, weights: Tensor | None) -> Tensor:
    """Average over neighbours with additive attention, `weights` (S, 2, d) (GAT)."""
    assert weights is not None
    own, other = (x @ weights.transpose(1, 2)).unbind(2)  # (S, N) each
    scores = functional.leaky_relu(own.unsqueeze(2) + other.unsqueeze(1), 0.2)  # (S, N, N)
    return scores.masked_fill(~adjacency, float("-inf")).softmax(2) @ x


PASS_ON = {"gcn": convolve, "gat": attend}
