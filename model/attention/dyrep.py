"""Eq. 4: attention that moves by DyRep's Algorithm 1, from the association graph and the event's intensity.

λ enters as a number and S has no gradient, so that there is nothing to undo backwards. S: seeds, K: slots, d:
width; dimension 1 holds the two nodes of the event.
"""

import torch
from torch import Tensor

from model.attention.base import Attention, Passage
from model.attention.rows import slot_sum
from model.batches import Step
from model.intensity import intensity, symmetric_compatibility
from model.stream import ASSOCIATION


class DyRepAttention(Attention):
    """S that follows associations, and communications between associates."""

    def __init__(self, passage: Passage) -> None:
        super().__init__(passage)
        self.kinds: list[int] = passage.kinds.tolist()
        compatibility, rate = (passage.named[f"intensity.{name}"] for name in ("compatibility", "rate"))
        self.symmetric = symmetric_compatibility(compatibility.detach()).unbind(1)
        self.rates = rate.detach().unbind(1)

    def move(self, b: int, step: Step, own: Tensor, new: Tensor) -> None:  # noqa: ARG002
        """Apply the rule to rows u and v, with λ of the embeddings before the event."""
        if step.slots is None:  # a communication of two who are not associates
            return
        assert step.share is not None
        kind, pair = self.kinds[b], self.read(step)
        pair.values[:, :, : step.width_after] = dyrep_rows(
            pair.values[:, :, : step.width_after],
            step.slots,
            step.share,
            step.loss,
            intensity(self.compatibility(own, kind), self.rates[kind]),
            step.applies,
        )
        self.put(step, pair.values, pair.bias if kind == ASSOCIATION else None)

    def compatibility(self, own: Tensor, kind: int) -> Tensor:
        """g of u and v from their embeddings (S, 2, d): (S)."""
        symmetric = self.symmetric[kind]
        if symmetric.dim() == 3:
            return torch.bmm(torch.bmm(own[:, :1], symmetric), own[:, 1:].transpose(1, 2)).view(-1)
        return (own.sum(1) * symmetric).sum(1)


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
