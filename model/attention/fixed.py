"""Constant attention: LDG on a random graph."""

import torch
from torch import Tensor

from model.attention.base import Attention, Passage
from model.attention.slots import divide_by_totals
from model.batches import Step


class FixedAttention(Attention):
    """Constant S: its softmax is computed once per batch, and there is no backward pass."""

    def __init__(self, passage: Passage) -> None:
        super().__init__(passage)
        self.weights_of_rows = (self.values + self.bias).exp_()  # (S·N, C, r)
        totals = torch.empty_like(self.weights_of_rows[:, 0])
        divide_by_totals(self.weights_of_rows.numpy(), totals.numpy())

    def softmax(self, step: Step) -> Tensor:
        """Return softmax(S) of rows u and v, all slots: (S·2, C, r)."""
        return self.weights_of_rows.index_select(0, step.rows)
