"""What the event loop asks of any attention: read before an event, move after it, undo backwards.

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
    """One batch that an attention is to pass through."""

    variant: Variant
    rows: AttentionRows  # S before the batch, which moves
    kinds: Tensor  # (B)
    named: dict[str, Tensor]  # every parameter of the variant
    noise: Tensor | None  # (B, S, 2, r'): Gumbel's, where S is sampled in training
    workspace: Workspace
    undone: int  # how many events will be undone, 0 for none


class Attention:
    """S of every seed as the event loop uses it. By itself it never moves and has no gradient."""

    has_gradient = False

    def __init__(self, passage: Passage) -> None:
        rows = passage.rows
        seeds, _, *slots = rows.values.shape
        self.pair_shape = seeds, 2, *slots
        self.values, self.bias = rows.flat()  # (S·N, C, r), views of the stream's state
        self.totals = np.empty((2 * seeds, slots[1]), self.values.numpy().dtype)  # (S·2, r), to work in

    @staticmethod
    def shapes(variant: Variant, d: int) -> Shapes:  # noqa: ARG004 - for those that have parameters
        """Name and shape of the parameters of its own, of one seed."""
        return {}

    @property
    def weights(self) -> dict[str, Tensor]:
        """The parameters that move S, by name."""
        return {}

    # ---- forward

    def start(self, z: Tensor, weights: dict[str, Tensor]) -> None:
        """Prepare for a batch whose first event sees the embeddings `z` (S, N, d); `weights` are detached."""

    def softmax(self, step: Step) -> Tensor:
        """softmax(S) of rows u and v in the slots that are in use, 0 without a neighbour: (S·2, K, r)."""
        weights = torch.empty(len(step.rows), step.width, self.pair_shape[3], dtype=self.values.dtype)
        add_bias(self.values.numpy(), self.bias.numpy(), step.rows.numpy(), weights.numpy())
        weights.exp_()  # S stays near [0, 1], so no shift is needed before exp
        divide_by_totals(weights.numpy(), self.totals)
        return weights

    def move(self, b: int, step: Step, own: Tensor, new: Tensor) -> None:
        """Change S by event `b` of the batch, which turns the embeddings `own` into `new` (S, 2, d)."""

    def logits(self) -> Tensor | None:
        """What the encoder said of every event (B, S, 2, r'); nothing without an encoder."""
        return None

    # ---- backward

    def start_backward(self, d_logits: Tensor) -> None:
        """Prepare for walking back through the batch, given the gradient of the logits."""

    def move_backward(self, b: int, step: Step, d_new: Tensor) -> Tensor:  # noqa: ARG002 - S has no part in it
        """Undo event `b`: the gradient of its new embeddings (S, 2, d), with what S adds to it."""
        return d_new

    def softmax_backward(self, step: Step, d_largest: np.ndarray, forward: Aggregate) -> None:
        """Take what the features of eq. 3 say of rows u and v, from the gradient of the largest products."""

    def gradients(self) -> dict[str, Tensor]:
        """Gradients of `weights` once the whole batch is undone."""
        return {}
