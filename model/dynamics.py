"""The sequential part of the model: updates of embeddings and attention by events (eqs. 2–4).

`EventLoop` runs all seeds forward through a batch planned by `model.batches`, and gradients backward. It
updates the embeddings; an attention of `model.attention.registry` updates S, with its own forward and
backward. Autograd sees the whole loop as one operation.

Names: `d_x` is the gradient of the loss with respect to `x`; `w_t` is w transposed. S: seeds, N: nodes, B:
events, K: slots, r: edge types, d: width; dimension 1 of an event's tensors holds u and v.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from model.attention.aggregation import Aggregate, aggregate, largest_gradient
from model.attention.base import Attention
from model.attention.slots import give_back_to_strongest
from model.batches import Batch, Step
from model.functions import sigmoid_, sigmoid_gradient
from model.layers import Linear


class EventLoop:
    """One batch's forward and backward pass over embeddings and attention, for all seeds."""

    def __init__(
        self, batch: Batch, z: Tensor, attention: Attention, named: dict[str, Tensor], differentiable: bool
    ) -> None:
        """Keep `z` (S, N, d), the embeddings before the batch, unchanged; `attention` is updated in place."""
        self.batch, self.before, self.attention, self.differentiable = batch, z, attention, differentiable
        self.edge_types = attention.pair_shape[3]
        self.w_update = torch.cat([named[f"update.{part}"] for part in ("attention", "self", "waiting")], 1)
        self.w_neighbour = named["update.neighbour"]
        self.aggregates: list[Aggregate] = []
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def run(self) -> tuple[Tensor, Tensor | None]:
        """Return the row versions of Z (S, N + 2B, d) and, with a learned graph, logits (B, S, 2, r')."""
        tensors = [self.w_update, self.w_neighbour, *self.attention.weights.values()]
        if self.differentiable:
            versions, logits = Unrolled.apply(self, *tensors)
        else:
            with torch.no_grad():
                versions, logits = self.forward(tensors)
        return versions, logits if self.attention.has_gradient else None

    def forward(self, tensors: list[Tensor]) -> tuple[Tensor, Tensor | None]:
        """Process all events in order."""
        weights = dict(zip(self.attention.weights, tensors[2:], strict=True))
        self.update, self.neighbour = Linear(tensors[0]), Linear(tensors[1])
        self.z = z = self.before.clone()
        self.attention.start(self.before, weights)
        seeds, nodes, d = z.shape
        projected = self.neighbour.forward(z)  # W_h Z, two rows refreshed per event
        flat = projected.view(seeds * nodes, d).numpy()
        waiting = self.batch.waiting.unsqueeze(1).expand(-1, seeds, -1, -1).unbind(0)  # B × (S, 2, 4)
        versions = [self.before]
        for b, step in enumerate(self.batch.steps):
            own = z.index_select(1, step.uv)  # (S, 2, d)
            felt = self.felt(step, flat)
            inputs = torch.cat([felt.flip(1), own, waiting[b]], dim=2)
            new = sigmoid_(self.update.forward(inputs))  # eq. 2
            self.attention.move(b, step, own, new)
            z.index_copy_(1, step.uv, new)
            projected.index_copy_(1, step.uv, self.neighbour.forward(new))
            if self.differentiable:
                self.inputs.append(inputs)
                self.outputs.append(new)
            versions.append(new)
        return torch.cat(versions, dim=1), self.attention.logits()

    def felt(self, step: Step, projected: np.ndarray) -> Tensor:
        """Return the aggregated neighbour features h^S of u and v, eq. 3: (S, 2, r·d)."""
        weights, bias = self.attention.softmax(step), self.attention.bias.numpy()
        felt = aggregate(weights, bias, step.rows.numpy(), step.neighbours, projected)
        if self.differentiable:
            self.aggregates.append(felt)
        return felt.features

    def backward(self, d_versions: Tensor, d_logits: Tensor) -> list[Tensor]:
        """Return the gradients of the tensors given to `forward`, from the last event to the first.

        `d_z` and `d_projected` hold, for every node, the gradient of its row at the current event.
        """
        seeds, nodes, d = self.z.shape
        felt_width = self.edge_types * d
        d_z = torch.zeros_like(self.z)
        d_projected = torch.zeros_like(self.z)
        d_flat = d_projected.view(seeds * nodes, d).numpy()
        self.attention.start_backward(d_logits)
        for b in range(len(self.batch) - 1, -1, -1):
            step, felt, new = self.batch.steps[b], self.aggregates[b], self.outputs[b]
            uv, at = step.uv, nodes + 2 * b
            d_new = d_z.index_select(1, uv) + d_versions[:, at : at + 2]
            d_new = self.neighbour.backward(new, d_projected.index_select(1, uv), onto=d_new)
            d_projected.index_fill_(1, uv, 0.0)
            d_new = self.attention.move_backward(b, step, d_new)
            d_inputs = self.update.backward(self.inputs[b], sigmoid_gradient(d_new, new))
            d_z.index_copy_(1, uv, d_inputs[:, :, felt_width : felt_width + d])
            d_felt = d_inputs[:, :, :felt_width].flip(1)
            d_largest = largest_gradient(d_felt, felt)
            give_back_to_strongest(d_largest, felt.strongest, felt.weights.numpy(), step.neighbours, d_flat)
            self.attention.softmax_backward(step, d_largest, felt)
        self.neighbour.keep(self.before, d_projected)  # W_h Z of all nodes before the batch
        d_weights = self.attention.gradients()
        d_of_attention = [d_weights[name] for name in self.attention.weights]
        return [self.update.d_w(), self.neighbour.d_w(), *d_of_attention]


class Unrolled(torch.autograd.Function):
    """The event loop as one differentiable operation."""

    @staticmethod
    def forward(ctx: FunctionCtx, loop: EventLoop, *tensors: Tensor) -> Any:  # noqa: ANN401
        """Run the loop; without a learned graph the logits are empty."""
        ctx.loop = loop  # ty: ignore[missing-attribute]
        versions, logits = loop.forward([tensor.detach() for tensor in tensors])
        return versions, versions.new_zeros(0) if logits is None else logits

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Any:  # noqa: ANN401
        """Run the loop's backward pass."""
        loop: EventLoop = ctx.loop  # ty: ignore[missing-attribute]
        with torch.no_grad():
            return None, *loop.backward(*gradients)
