"""Attention updated by DyRep's Algorithm 1 (eq. 4), from the association graph and the event's intensity.

λ is detached and S has no gradient, so there is no backward pass. S: seeds, K: slots, d:
width; dimension 1 holds the two nodes of the event.
"""

import numpy as np
import torch
from torch import Tensor

from model.attention.base import Attention, Passage
from model.attention.slots import follow_dyrep_rule
from model.batches import Step
from model.intensity import intensity, symmetric_compatibility
from model.stream import ASSOCIATION

EVERYWHERE = np.empty(0, np.bool_)


class DyRepAttention(Attention):
    """Attention S, updated by associations and by communications between associates."""

    def __init__(self, passage: Passage) -> None:
        super().__init__(passage)
        self.kinds: list[int] = passage.kinds.tolist()
        compatibility, rate = (passage.named[f"intensity.{name}"] for name in ("compatibility", "rate"))
        self.symmetric = symmetric_compatibility(compatibility.detach()).unbind(1)
        self.rates = rate.detach().unbind(1)

    def move(self, b: int, step: Step, own: Tensor, new: Tensor) -> None:  # noqa: ARG002
        """Apply the rule to rows u and v, with λ computed from the embeddings before the event."""
        if step.slots is None:  # a communication between nodes that are not associated
            return
        assert step.share is not None
        kind = self.kinds[b]
        rate = intensity(self.compatibility(own, kind), self.rates[kind])  # (S): λ
        slots = step.slots.numpy().ravel()
        follow_dyrep_rule(
            self.values.numpy(),
            step.rows.numpy(),
            slots,
            step.share.numpy(),
            step.share[:0].numpy() if step.loss is None else step.loss.numpy(),
            rate.numpy(),
            EVERYWHERE if step.applies is None else step.applies.numpy(),
            step.width_after,
            self.totals,
        )
        if kind == ASSOCIATION:
            self.bias.view(-1)[step.rows * self.bias.shape[1] + step.slots.view(-1)] = 0.0

    def compatibility(self, own: Tensor, kind: int) -> Tensor:
        """Compute g of u and v from their embeddings (S, 2, d): (S)."""
        symmetric = self.symmetric[kind]
        if symmetric.dim() == 3:
            return torch.bmm(torch.bmm(own[:, :1], symmetric), own[:, 1:].transpose(1, 2)).view(-1)
        return (own.sum(1) * symmetric).sum(1)
