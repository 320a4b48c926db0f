"""The interface between the event loop and attention: read before an event, update after it, backpropagate.

Names: `d_x` is the gradient of the loss with respect to `x`. S: seeds, N: nodes, B: events of the batch, K:
slots in use, C: all slots, r: edge types, d: width; dimension 1 holds the two nodes of the event.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.attention.aggregation import Aggregate
from model.attention.rows import AttentionRows
from model.attention.slots import add_bias, divide_by_totals
from model.batches import Step
from model.encoder import Workspace
from model.layers import Shapes
from pipeline.variants import Variant


@dataclass(frozen=True)
class Passage:
    """The inputs of an attention for one batch."""

    variant: Variant
    rows: AttentionRows  # S before the batch, updated in place
    kinds: Tensor  # (B)
    named: dict[str, Tensor]  # every parameter of the variant
    noise: Tensor | None  # (B, S, 2, r'): Gumbel noise, if S is sampled in training
    workspace: Workspace
    undone: int  # number of events to backpropagate, 0 for none


class Attention:
    """Base class of the attention S of all seeds: constant and without gradient."""

    has_gradient = False

    def __init__(self, passage: Passage) -> None:
        rows = passage.rows
        seeds, _, *slots = rows.values.shape
        self.pair_shape = seeds, 2, *slots
        self.values, self.bias = rows.flat()  # (S·N, C, r), views of the stream's state
        self.totals = np.empty((2 * seeds, slots[1]), self.values.numpy().dtype)  # (S·2, r), scratch

    @staticmethod
    def shapes(variant: Variant, d: int) -> Shapes:  # noqa: ARG004 - for subclasses
        """Return the names and shapes of this attention's parameters, for one seed."""
        return {}

    @property
    def weights(self) -> dict[str, Tensor]:
        """The parameters that update S, by name."""
        return {}

    # ---- forward

    def start(self, z: Tensor, weights: dict[str, Tensor]) -> None:
        """Prepare for a batch, given the embeddings `z` (S, N, d) before it; `weights` are detached."""

    def softmax(self, step: Step) -> Tensor:
        """Compute softmax(S) of rows u and v in the slots in use, 0 without a neighbour: (S·2, K, r)."""
        weights = torch.empty(len(step.rows), step.width, self.pair_shape[3], dtype=self.values.dtype)
        add_bias(self.values.numpy(), self.bias.numpy(), step.rows.numpy(), weights.numpy())
        weights.exp_()  # S stays near [0, 1], so no shift is needed before exp
        divide_by_totals(weights.numpy(), self.totals)
        return weights

    def move(self, b: int, step: Step, own: Tensor, new: Tensor) -> None:
        """Update S by event `b` of the batch, with embeddings `own` before and `new` after it (S, 2, d)."""

    def logits(self) -> Tensor | None:
        """Return the encoder's logits of every event (B, S, 2, r'); None without an encoder."""
        return None

    # ---- backward

    def start_backward(self, d_logits: Tensor) -> None:
        """Prepare for the backward pass, given the gradient of the logits."""

    def move_backward(self, b: int, step: Step, d_new: Tensor) -> Tensor:  # noqa: ARG002 - for subclasses
        """Backpropagate event `b`; return `d_new` (S, 2, d) plus the gradient through S."""
        return d_new

    def softmax_backward(self, step: Step, d_largest: np.ndarray, forward: Aggregate) -> None:
        """Accumulate the gradient of rows u and v of S, from that of the maximal products of eq. 3."""

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients of `weights`; call after the backward pass of all events."""
        return {}
