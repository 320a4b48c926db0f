"""Attention that the encoder infers and Gumbel-softmax samples (eqs. 6 and 11), with its gradient.

Names: `d_x` is the gradient of the loss with respect to `x`. S: seeds, N: nodes, B: events of the batch, K:
slots in use, C: all slots, r: edge types, r': those of the prior (a sparse one has the non-edge first), d:
width; dimension 1 holds the two nodes of the event.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from model.attention.aggregation import Aggregate, softmax_backward
from model.attention.base import Attention, PairRows, Passage
from model.attention.rows import SMALLEST_TOTAL, slot_sum
from model.batches import Step
from model.encoder import Encoder, encoder_shapes, folded_weights
from model.layers import Shapes
from pipeline.variants import Variant

TEMPERATURE = 0.5


class Sampled(NamedTuple):
    """What one event leaves for its gradient."""

    soft: Tensor  # (S, 2, r'): the sample
    rows: Tensor  # (S, 2, K, r): rows u and v after the event
    totals: Tensor  # (S, 2, 1, r): what they were divided by


class LearnedAttention(Attention):
    """S that the encoder moves; gradients flow back through it, event by event."""

    has_gradient = True

    def __init__(self, passage: Passage) -> None:
        super().__init__(passage)
        self.variant, self.workspace = passage.variant, passage.workspace
        self.noise, self.undone = passage.noise, passage.undone
        self.folded = folded_weights(passage.variant, passage.named)
        self.sampled: list[Sampled] = []
        self.logits_of_events: list[Tensor] = []

    @staticmethod
    def shapes(variant: Variant, d: int) -> Shapes:
        """Those of the encoder."""
        return encoder_shapes(variant, d)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The encoder's weights, folded."""
        return self.folded

    def start(self, z: Tensor, weights: dict[str, Tensor]) -> None:
        """Give all embeddings before the batch to the encoder."""
        self.encoder = Encoder(self.variant, weights, z, self.workspace, self.undone)

    def logits(self) -> Tensor:
        """What the encoder said of every event: (B, S, 2, r')."""
        return torch.stack(self.logits_of_events)

    def start_backward(self, d_logits: Tensor) -> None:
        """Begin with no gradient of S after the batch."""
        self.d_logits = d_logits
        self.d_values = torch.zeros_like(self.values)  # of the rows current at the event being undone
        self.encoder.start_backward()

    # ---- S_uv and S_vu after the event

    def move(self, b: int, step: Step, pair: PairRows, own: Tensor, new: Tensor) -> None:  # noqa: ARG002
        """Sample S_uv and S_vu from what the encoder says of Z before the event; normalize rows u and v."""
        assert step.slots is not None
        logits = self.encoder.forward(b, step.uv)
        self.encoder.refresh(step.uv, new)
        noisy = logits if self.noise is None else logits + self.noise[b]
        soft = (noisy / TEMPERATURE).softmax(2)  # (S, 2, r')
        edges = soft[:, :, soft.shape[2] - pair.values.shape[3] :]
        rows, totals = learned_rows(pair.values[:, :, : step.width_after], step.slots, edges)
        pair.values[:, :, : step.width_after] = rows
        self.put(step, pair.values, pair.bias)
        self.logits_of_events.append(logits)
        if self.undone:
            self.sampled.append(Sampled(soft, rows, totals))

    def move_backward(self, b: int, step: Step, d_new: Tensor) -> Tensor:
        """Undo `move`: `d_values` and the encoder's gradients become those before the event."""
        assert step.slots is not None
        d_new = self.encoder.refresh_backward(step.uv, d_new)
        soft, rows, totals = self.sampled[b]
        d_pair = self.d_values.index_select(0, step.rows).view(self.pair_shape)
        d_before, d_edges = learned_rows_backward(d_pair[:, :, : step.width_after], rows, totals, step.slots)
        d_pair[:, :, : step.width_after] = d_before
        self.d_values.index_copy_(0, step.rows, d_pair.view(len(step.rows), -1))
        d_soft = pad(d_edges, (soft.shape[2] - rows.shape[3], 0))  # the non-edge is no part of S
        d_sample = soft * (d_soft - (soft * d_soft).sum(2, keepdim=True)) / TEMPERATURE
        self.encoder.backward(b, step.uv, d_sample + self.d_logits[b])
        return d_new

    # ---- how S weighs neighbours: `softmax` of the base class, and its gradient

    def softmax_backward(self, step: Step, d_largest: Tensor, forward: Aggregate) -> None:
        """Add what the features of eq. 3 say of rows u and v."""
        d_rows = softmax_backward(d_largest, forward)  # (S, 2, K, r)
        d_pair = pad(d_rows, (0, 0, 0, self.pair_shape[2] - step.width))
        self.d_values.index_add_(0, step.rows, d_pair.view(len(step.rows), -1))

    def gradients(self) -> dict[str, Tensor]:
        """Gradients of the encoder's weights."""
        return self.encoder.gradients()


def learned_rows(rows: Tensor, slots: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """Rows u and v (S, 2, K, r) with the pair's entry set to `sampled` (S, 2, r), normalized, and totals."""
    index = slots.unsqueeze(3).expand(-1, -1, -1, rows.shape[3])  # (S, 2, 1, r)
    rows = rows.scatter(2, index, sampled.unsqueeze(2))
    totals = slot_sum(rows).clamp_min(SMALLEST_TOTAL)
    return rows / totals, totals


def learned_rows_backward(
    d_rows: Tensor, rows: Tensor, totals: Tensor, slots: Tensor
) -> tuple[Tensor, Tensor]:
    """From the gradient of the new rows: that of the old rows (S, 2, K, r) and of the sampled entry
    (S, 2, r).
    """
    index = slots.unsqueeze(3).expand(-1, -1, -1, rows.shape[3])
    d_before = (d_rows - slot_sum(d_rows * rows)) / totals
    d_sampled = d_before.gather(2, index).squeeze(2)
    return d_before.scatter_(2, index, 0.0), d_sampled
