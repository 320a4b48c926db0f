"""Max-pooling over the neighbours of two nodes (eq. 3), with its gradient.

Names: `d_x` is the gradient of the loss with respect to `x`. S: seeds, M: rows u and v of every seed, K:
slots, r: edge types, d: width; dimension 1 holds the two nodes of the event.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.attention.slots import find_strongest
from model.functions import sigmoid_, sigmoid_gradient


@dataclass
class Aggregate:
    """Aggregated neighbour features of two nodes, and the activations for the gradient."""

    features: Tensor  # (S, 2, r·d): h^S
    weights: Tensor  # (M, K or more, r): softmax of S
    strongest: np.ndarray  # (M, r, d) int32: slot of the maximum (argmax)
    felt: np.ndarray  # (M, r, d): W_h z of the argmax neighbour


def aggregate(
    weights: Tensor, bias: np.ndarray, rows: np.ndarray, neighbours: np.ndarray, projected: np.ndarray
) -> Aggregate:
    """Compute the element-wise maximum over neighbours of sigmoid(softmax(S)·W_h z); 0 without neighbours.

    `weights` (M, K or more, r): softmax of the rows of the two nodes; `bias` (S·N, C, r); `neighbours` (M, K)
    are rows of `projected` (S·N, d), W_h Z. The sigmoid is monotonic, so it is applied to the maximum.
    """
    shape = len(rows), weights.shape[2], projected.shape[1]
    largest = torch.empty(shape, dtype=weights.dtype)
    strongest, felt = np.empty(shape, np.int32), np.empty(shape, projected.dtype)
    find_strongest(weights.numpy(), bias, rows, neighbours, projected, largest.numpy(), strongest, felt)
    return Aggregate(sigmoid_(largest.view(len(rows) // 2, 2, -1)), weights, strongest, felt)


def largest_gradient(d_features: Tensor, forward: Aggregate) -> np.ndarray:
    """Return the gradient of the maximal products (M, r, d), from that of the features (S, 2, r·d)."""
    return sigmoid_gradient(d_features, forward.features).numpy().reshape(forward.strongest.shape)
