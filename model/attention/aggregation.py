"""Eq. 3: the features that flow from the neighbours of two nodes, with its gradient.

Names: `d_x` is the gradient of the loss with respect to `x`. S: seeds, K: slots, r: edge types, d: width;
dimension 1 holds the two nodes of the event.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from model.attention.rows import slot_sum
from model.functions import sigmoid_, sigmoid_gradient


@dataclass
class Aggregate:
    """What features flow from the neighbours of two nodes, and what its gradient needs."""

    features: Tensor  # (S, 2, r·d): h^S
    weights: Tensor  # (S, 2, K, r): softmax of S
    strongest: Tensor  # (S, 2, r, d): slot of the maximum
    projected: Tensor | None  # (S, 2, r, d): W_h z of that slot's node, where S has a gradient


def neighbour_products(weights: Tensor, bias: Tensor, projected: Tensor) -> Tensor:
    """softmax(S)·W_h z (S, 2, K, r, d), ABSENT where there is no neighbour."""
    # Two steps: the library's fused one is several times slower where operands are broadcast.
    return torch.mul(weights.unsqueeze(4), projected.unsqueeze(3)).add_(bias.unsqueeze(4))


@cache
def nearness(slots: int, dtype: torch.dtype) -> Tensor:
    """A number for each slot, the larger the earlier: (K, 1, 1)."""
    return torch.arange(slots, 0, -1, dtype=dtype).view(slots, 1, 1)


def largest_slot_(product: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum over slots of (S, 2, K, r, d) and the first slot that has it, both (S, 2, r, d).

    Comparing with the maximum costs less than the library's search for an index. Overwrites `product`.
    """
    slots = product.shape[2]
    largest = product.amax(2, keepdim=True)
    first = torch.eq(product, largest, out=product).mul_(nearness(slots, product.dtype)).amax(2)
    # Nothing equals a maximum that is not a number; any slot will do there.
    return largest.squeeze(2), (slots - first).clamp_max_(slots - 1).long()


def aggregate_features(weights: Tensor, bias: Tensor, projected: Tensor) -> Tensor:
    """The features of `aggregate` alone (S, 2, r·d), where no gradient is wanted."""
    return sigmoid_(neighbour_products(weights, bias, projected).amax(2)).flatten(2)


def aggregate(weights: Tensor, bias: Tensor, projected: Tensor, learned: bool) -> Aggregate:
    """Element-wise max over neighbours of sigmoid(softmax(S)·W_h z); no neighbours give zeros.

    `weights`, `bias` (S, 2, K, r): rows of the two nodes; `projected` (S, 2, K, d): W_h z of the nodes in
    their slots. The sigmoid is monotonic, so it is taken of the maximum. `learned`: S has a gradient.
    """
    largest, strongest = largest_slot_(neighbour_products(weights, bias, projected))
    of_strongest = projected.gather(2, strongest) if learned else None
    return Aggregate(sigmoid_(largest).flatten(2), weights, strongest, of_strongest)


def aggregate_backward(d_features: Tensor, forward: Aggregate) -> tuple[Tensor, Tensor]:
    """From the gradient of the features (S, 2, r·d): that of the largest products, and that of W_h z in the
    slots that gave them, both (S, 2, r, d).
    """
    d_largest = sigmoid_gradient(d_features, forward.features).view_as(forward.strongest)
    return d_largest, d_largest * forward.weights.transpose(2, 3).gather(3, forward.strongest)


def softmax_backward(d_largest: Tensor, forward: Aggregate) -> Tensor:
    """From the gradient of the largest products (S, 2, r, d): that of S (S, 2, K, r)."""
    weights = forward.weights
    assert forward.projected is not None
    d_weights = torch.zeros_like(weights.transpose(2, 3))
    d_weights.scatter_add_(3, forward.strongest, d_largest * forward.projected)
    d_weights = d_weights.transpose(2, 3)
    return weights * (d_weights - slot_sum(weights * d_weights))
