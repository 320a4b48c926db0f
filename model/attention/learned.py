"""Attention inferred by the encoder and sampled by Gumbel-softmax (eqs. 6 and 11), with its gradient.

Names: `d_x` is the gradient of the loss with respect to `x`. S: seeds, N: nodes, B: events of the batch, K:
slots in use, C: all slots, r: edge types, r': types of the prior (a sparse one has the non-edge first), d:
width; dimension 1 holds the two nodes of the event.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.attention.aggregation import Aggregate
from model.attention.base import Attention, Passage
from model.attention.rows import pair_by_rows
from model.attention.slots import give_back_to_rows, set_entries, undo_entries
from model.batches import Step
from model.encoder import Encoder, encoder_shapes, folded_weights
from model.layers import Shapes
from pipeline.paper_training import TEMPERATURE
from pipeline.variants import Variant


class Sampled(NamedTuple):
    """The activations of one event for its gradient."""

    soft: Tensor  # (S, 2, r'): the sample
    rows: np.ndarray  # (S·2, K, r): rows u and v after the event
    totals: np.ndarray  # (S·2, r): the divisors of the normalization


class LearnedAttention(Attention):
    """Attention S updated by the encoder; gradients flow back through it, event by event."""

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
        """Return the encoder's parameter shapes."""
        return encoder_shapes(variant, d)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The encoder's weights, folded."""
        return self.folded

    def start(self, z: Tensor, weights: dict[str, Tensor]) -> None:
        """Create the encoder from the embeddings before the batch."""
        self.encoder = Encoder(self.variant, weights, z, self.workspace, self.undone)

    def logits(self) -> Tensor:
        """Return the encoder's logits of every event: (B, S, 2, r')."""
        return torch.stack(self.logits_of_events)

    def start_backward(self, d_logits: Tensor) -> None:
        """Initialize the gradient of S after the batch to zero."""
        self.d_logits = d_logits
        self.d_values = torch.zeros_like(self.values)  # of the rows current at the event in progress
        self.encoder.start_backward()

    # ---- S_uv and S_vu after the event

    def move(self, b: int, step: Step, own: Tensor, new: Tensor) -> None:  # noqa: ARG002
        """Sample S_uv and S_vu from the encoder's logits for Z before the event; normalize rows u and v."""
        assert step.slots is not None
        logits = self.encoder.forward(b, step.uv)
        self.encoder.refresh(step.uv, new)
        noisy = logits if self.noise is None else logits + self.noise[b]
        soft = (noisy / TEMPERATURE).softmax(2)  # (S, 2, r')
        values, bias, rows = self.values.numpy(), self.bias.numpy(), step.rows.numpy()
        after = np.empty((len(rows), step.width_after, values.shape[2]), values.dtype)
        totals = np.empty_like(self.totals)
        set_entries(values, bias, rows, step.slots.numpy().ravel(), pair_by_rows(soft), after, totals)
        self.logits_of_events.append(logits)
        if self.undone:
            self.sampled.append(Sampled(soft, after, totals))

    def move_backward(self, b: int, step: Step, d_new: Tensor) -> Tensor:
        """Backpropagate `move`: `d_values` and the encoder's gradients become those before the event."""
        assert step.slots is not None
        d_new = self.encoder.refresh_backward(step.uv, d_new)
        soft, after, totals = self.sampled[b]
        d_soft = torch.zeros_like(soft)  # S excludes the non-edge
        rows, slots = step.rows.numpy(), step.slots.numpy().ravel()
        undo_entries(self.d_values.numpy(), rows, slots, after, totals, self.totals, pair_by_rows(d_soft))
        d_sample = soft * (d_soft - (soft * d_soft).sum(2, keepdim=True)) / TEMPERATURE
        self.encoder.backward(b, step.uv, d_sample + self.d_logits[b])
        return d_new

    # ---- gradient of `softmax` (base class)

    def softmax_backward(self, step: Step, d_largest: np.ndarray, forward: Aggregate) -> None:
        """Add the gradient of rows u and v from the features of eq. 3."""
        weights = forward.weights.numpy()
        d_weights = np.zeros_like(weights)
        rows, d_values = step.rows.numpy(), self.d_values.numpy()
        give_back_to_rows(
            d_largest, forward.strongest, forward.felt, weights, rows, d_values, d_weights, self.totals
        )

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients of the encoder's weights."""
        return self.encoder.gradients()
