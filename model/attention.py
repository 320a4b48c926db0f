"""Temporal attention S as sparse rows: who a node's neighbours are, how features flow from them, how rows
change.

A row keeps its neighbours in the order they joined, in slots that all seeds fill on their own; slots beyond
a seed's own neighbours are marked absent and change no value. Sums over slots run in slot order, so that a
seed's numbers do not depend on how wide the rows of the seeds beside it are.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from model.functions import sigmoid_, sigmoid_gradient

ABSENT = -1e30  # added where there is no neighbour: its softmax weight is 0 and it never is the maximum
SMALLEST_TOTAL = 1e-12
NOBODY = -1


def slot_sum(values: Tensor) -> Tensor:
    """Sum over the slots (dimension 2, kept) in slot order: trailing zeros change no bit of it."""
    return values.cumsum(2)[:, :, -1:]


@dataclass
class AttentionRows:
    """S of every seed. S: seeds, N: nodes, C: slots, r: edge types."""

    order: np.ndarray  # (S, N, C) int64: the neighbour in each slot, NOBODY beyond
    count: np.ndarray  # (S, N) int64: slots in use
    values: Tensor  # (S, N, C, r): S_ui
    bias: Tensor  # (S, N, C, r): 0 for a neighbour by this edge type, ABSENT otherwise
    found: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict
    )  # slots looked up

    @classmethod
    def from_dense(cls, dense: Tensor) -> Self:
        """Rows from a dense (S, N, N, r) matrix; entries that are not zero are neighbours."""
        seeds, nodes, _, edge_types = dense.shape
        present = (dense != 0).any(3).numpy()  # (S, N, N)
        count = present.sum(2).astype(np.int64)
        slots = max(int(count.max(initial=0)), 1)
        order = np.argsort(~present, axis=2, kind="stable")[:, :, :slots].astype(np.int64)
        order[np.arange(slots) >= count[:, :, None]] = NOBODY
        index = torch.from_numpy(np.maximum(order, 0)).unsqueeze(3).expand(seeds, nodes, slots, edge_types)
        used = torch.from_numpy(order != NOBODY).unsqueeze(3)
        values = dense.gather(2, index) * used
        bias = torch.where(values != 0, 0.0, ABSENT).to(dense.dtype)
        return cls(order, count, values, bias)

    def dense(self) -> Tensor:
        """S as (S, N, N, r)."""
        seeds, nodes, _, edge_types = self.values.shape
        index = torch.from_numpy(np.maximum(self.order, 0)).unsqueeze(3).expand(-1, -1, -1, edge_types)
        used = torch.from_numpy(self.order != NOBODY).unsqueeze(3)
        out = self.values.new_zeros(seeds, nodes, nodes, edge_types)
        return out.scatter_add_(2, index, self.values * used)

    def neighbours(self, u: int, v: int) -> tuple[np.ndarray, int]:
        """The neighbours of u and of v: (S, 2, K) with NOBODY as padding, and K ≥ 1."""
        width = max(int(self.count[:, u].max()), int(self.count[:, v].max()), 1)
        return self.order[:, (u, v), :width], width

    def slot(self, node: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Where `other` is in the row of `node` (0 where it is not), and whether it is there: both (S)."""
        if (node, other) not in self.found:
            same = self.order[:, node] == other  # (S, C)
            self.found[node, other] = same.argmax(1), same.any(1)
        return self.found[node, other]

    def join(self, u: int, v: int) -> None:
        """Give v a slot in u's row and u one in v's, in every seed that has none."""
        for node, other in ((u, v), (v, u)):
            _, found = self.slot(node, other)
            if found.all():
                continue
            if int(self.count[:, node].max()) == self.order.shape[2]:
                self.widen()
            seeds = np.nonzero(~found)[0]
            self.order[seeds, node, self.count[seeds, node]] = other
            self.count[seeds, node] += 1
            del self.found[node, other]

    def of_seeds(self, rows: list[int]) -> Self:
        """A copy for some of the seeds."""
        return type(self)(self.order[rows], self.count[rows], self.values[rows], self.bias[rows])

    def flat(self) -> tuple[Tensor, Tensor]:
        """Values and bias as matrices with a row a seed and node: (S·N, C·r), views."""
        seeds, nodes, _, _ = self.values.shape
        return self.values.view(seeds * nodes, -1), self.bias.view(seeds * nodes, -1)

    def widen(self) -> None:
        """Double the slots; new ones are empty."""
        seeds, nodes, slots, edge_types = self.values.shape
        self.order = np.concatenate([self.order, np.full_like(self.order, NOBODY)], axis=2)
        empty = self.values.new_zeros(seeds, nodes, slots, edge_types)
        self.values = torch.cat([self.values, empty], dim=2)
        self.bias = torch.cat([self.bias, empty + ABSENT], dim=2)


@dataclass
class Aggregate:
    """What features flow from the neighbours of two nodes (eq. 3), and what its gradient needs."""

    features: Tensor  # (S, 2, r·d): h^S
    weights: Tensor  # (S, 2, K, r): softmax of S
    strongest: Tensor  # (S, 2, r, d): slot of the maximum
    projected: Tensor | None  # (S, 2, r, d): W_h z of that slot's node, where S has a gradient


def slot_softmax(values: Tensor, bias: Tensor) -> Tensor:
    """softmax(S) over the slots of rows (S, R, K, r): 0 where there is no neighbour."""
    exponent = (values + bias).exp_()  # S stays near [0, 1], so no shift is needed before exp
    return exponent.div_(slot_sum(exponent).clamp_min_(SMALLEST_TOTAL))


def neighbour_products(weights: Tensor, bias: Tensor, projected: Tensor) -> Tensor:
    """softmax(S)·W_h z (S, 2, K, r, d), ABSENT where there is no neighbour."""
    # Two steps: the library's fused one is several times slower where operands are broadcast.
    return torch.mul(weights.unsqueeze(4), projected.unsqueeze(3)).add_(bias.unsqueeze(4))


@cache
def nearness(slots: int, dtype: torch.dtype) -> Tensor:
    """A number for each slot, the larger the earlier: (K, 1, 1)."""
    return torch.arange(slots, 0, -1, dtype=dtype).view(slots, 1, 1)


def largest_slot(product: Tensor) -> tuple[Tensor, Tensor]:
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
    largest, strongest = largest_slot(neighbour_products(weights, bias, projected))
    kept = projected.gather(2, strongest) if learned else None
    return Aggregate(sigmoid_(largest).flatten(2), weights, strongest, kept)


def aggregate_backward(gradient: Tensor, forward: Aggregate) -> tuple[Tensor, Tensor]:
    """From the gradient of the features (S, 2, r·d): that of the largest products and that of their
    projections (S, 2, r, d).
    """
    largest = sigmoid_gradient(gradient, forward.features).view_as(forward.strongest)
    return largest, largest * forward.weights.transpose(2, 3).gather(3, forward.strongest)


def softmax_backward(largest: Tensor, forward: Aggregate) -> Tensor:
    """From the gradient of the largest products (S, 2, r, d): that of S (S, 2, K, r)."""
    weights = forward.weights
    assert forward.projected is not None
    of_weights = torch.zeros_like(weights.transpose(2, 3))
    of_weights.scatter_add_(3, forward.strongest, largest * forward.projected)
    of_weights = of_weights.transpose(2, 3)
    return weights * (of_weights - slot_sum(weights * of_weights))


def learned_rows(rows: Tensor, slots: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """Rows u and v (S, 2, K, r) with the pair's entry set to `sampled` (S, 2, r), normalized; and their
    totals.
    """
    index = slots.unsqueeze(3).expand(-1, -1, -1, rows.shape[3])  # (S, 2, 1, r)
    rows = rows.scatter(2, index, sampled.unsqueeze(2))
    totals = slot_sum(rows).clamp_min(SMALLEST_TOTAL)
    return rows / totals, totals


def learned_rows_backward(
    gradient: Tensor, rows: Tensor, totals: Tensor, slots: Tensor
) -> tuple[Tensor, Tensor]:
    """From the gradient of the new rows: that of the old rows (S, 2, K, r) and of the sampled entry (S, 2,
    r).
    """
    index = slots.unsqueeze(3).expand(-1, -1, -1, rows.shape[3])
    before = (gradient - slot_sum(gradient * rows)) / totals
    sampled = before.gather(2, index).squeeze(2)
    return before.scatter_(2, index, 0.0), sampled


def dyrep_rows(
    rows: Tensor,
    slots: Tensor,
    share: Tensor,
    loss: Tensor | None,
    intensity: Tensor,
    applies: Tensor | None,
) -> Tensor:
    """DyRep's rule for rows u and v (S, 2, K, 1).

    `share` is b = 1/deg and `loss` x = b' − b (none for a communication), both (S, 2); `intensity` is λ (S);
    `applies` (S) says in which seeds the pair is associated (none: in all).
    """
    changed = rows if loss is None else rows - loss[:, :, None, None] * (rows != 0)
    entry = (share + intensity[:, None])[:, :, None, None]  # (S, 2, 1, 1)
    changed = changed.scatter(2, slots.unsqueeze(3), entry)
    changed = changed / slot_sum(changed)
    return changed if applies is None else torch.where(applies[:, None, None, None], changed, rows)


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
