"""LDG's encoder (eqs. 7–10): logits of S_uv and S_vu from all embeddings, with the gradient written out.

Only edges into u and v are used, so one event costs 2(N − 1) first-pass edges. Products of weights are
constant within a batch; they are folded once, under autograd. The gradients of each event are written by
hand, because at d = 32 the overhead of autograd exceeds the arithmetic. Every layer stores the activations
that its gradient needs. Call `forward` in stream order, then `backward` in reverse order, then `gradients`.

Names: `d_x` is the gradient of the loss with respect to `x`; `w_t` is w transposed. S: seeds, N: nodes, d:
width, r': edge types of the prior.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from model.functions import elu_, elu_gradient
from model.layers import Linear, Network, Shapes, Total, network_shapes
from pipeline.variant_names import BILINEAR
from pipeline.variants import Variant

T = TypeVar("T")


class Workspace:
    """Buffers reused across batches, because page faults on new memory cost as much as filling it."""

    def __init__(self) -> None:
        self.blocks: dict[str, Tensor] = {}
        self.of_seeds: dict[int, Any] = {}
        self.threads = 1  # of the engine for large networks

    def of_seed(self, row: int, make: Callable[[], T]) -> T:
        """Return the persistent object of one seed, created by `make` on first use."""
        if row not in self.of_seeds:
            self.of_seeds[row] = make()
        return self.of_seeds[row]

    def block(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return an uninitialized buffer whose first dimension is at least `shape[0]`."""
        block = self.blocks.get(name)
        if block is None or block.shape[1:] != shape[1:] or len(block) < shape[0] or block.dtype != dtype:
            block = self.blocks[name] = torch.empty(shape, dtype=dtype)
        return block


def encoder_shapes(variant: Variant, d: int) -> Shapes:
    """Return the encoder's shapes; `pair` are the bilinear W¹ and W² (receiver, sender, feature)."""
    bilinear = variant.of_encoder == BILINEAR
    pair = d if bilinear else 2 * d
    shapes = network_shapes("encoder.node1", d, d) | network_shapes("encoder.edge1", pair, d)
    if bilinear:
        shapes["encoder.edge1.pair"] = (d, d, d)
    if variant.passes == 2:
        shapes |= network_shapes("encoder.node2", d, d) | network_shapes("encoder.edge2", pair + d, d)
        if bilinear:
            shapes["encoder.edge2.pair"] = (d, d, d)
    outputs = len(variant.prior_probabilities)
    return shapes | {"encoder.out.w": (d, outputs), "encoder.out.b": (outputs,)}


def folded_weights(variant: Variant, named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the encoder's weights in the form that the event loop uses.

    A bilinear layer followed by a linear one is one bilinear map: `pair` W and `w1` become `fold` (S, d,
    d·d), from (receiver) to (sender, output).
    """
    weights = {name.removeprefix("encoder."): w for name, w in named.items() if name.startswith("encoder.")}
    if variant.of_encoder == BILINEAR:
        for edge in ("edge1", "edge2")[: variant.passes]:
            pair, w1 = weights.pop(f"{edge}.pair"), weights.pop(f"{edge}.w1")
            seeds, d = pair.shape[:2]
            weights[f"{edge}.fold"] = (pair.view(seeds, d * d, d) @ w1[:, :d]).view(seeds, d, d * d)
            if edge == "edge2":
                weights[f"{edge}.skip"] = w1[:, d:].contiguous()
    return {name: w.contiguous() if w.dim() == 3 else w.unsqueeze(1) for name, w in weights.items()}


class BilinearIncoming:
    """The first layer of f_edge¹ for edges from every node into u and v: a bilinear map of the two nodes."""

    def __init__(self, weights: dict[str, Tensor], undone: int) -> None:
        self.undone = undone
        self.fold = Linear(weights["edge1.fold"])
        self.bias_twice = weights["edge1.b1"].repeat(1, 1, 2)  # for both receivers at once
        self.d_bias = Total()
        self.tape: list[tuple[Tensor, Tensor]] = []

    def forward(self, nodes: Tensor, h: Tensor, out: Tensor) -> None:
        """Write pre-activations to `out` (S, N, 2·d), from h¹ of u and v (S, 2, d) and of all nodes."""
        seeds, _, d = nodes.shape
        mixed = self.fold.forward(nodes).view(seeds, 2, d, d)  # (S, receiver, sender, output)
        mixed = mixed.transpose(1, 2).reshape(seeds, d, 2 * d)
        torch.baddbmm(self.bias_twice, h, mixed, out=out)
        if self.undone:
            self.tape.append((nodes, mixed))

    def backward(self, uv: Tensor, d_sums: Tensor, h: Tensor, d_h: Tensor) -> None:
        """Add the gradients of senders and receivers from `d_sums` (S, N, 2·d) to `d_h` (S, N, d)."""
        nodes, mixed = self.tape.pop()
        seeds, count, d = h.shape
        d_mixed = torch.bmm(h.transpose(1, 2), d_sums).view(seeds, d, 2, d).transpose(1, 2)
        d_h.baddbmm_(d_sums, mixed.transpose(1, 2))
        self.d_bias.add_sum(d_sums.view(seeds, 2 * count, d))
        d_h.index_add_(1, uv, self.fold.backward(nodes, d_mixed.reshape(seeds, 2, d * d)))

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        return {"edge1.fold": self.fold.d_w(), "edge1.b1": self.d_bias()}


class ConcatIncoming:
    """The first layer of f_edge¹ for edges from every node into u and v: a linear map of the two nodes."""

    def __init__(self, weights: dict[str, Tensor], undone: int) -> None:
        self.undone = undone
        w = weights["edge1.w1"]
        d = w.shape[2]
        self.of_senders, self.of_senders_t = w[:, :d], w.transpose(1, 2).contiguous()[:, :, :d]
        self.d_of_senders = Total()
        self.of_receivers = Linear(w[:, d:], weights["edge1.b1"])
        self.tape: list[Tensor] = []

    def forward(self, nodes: Tensor, h: Tensor, out: Tensor) -> None:
        """Write pre-activations to `out` (S, N, 2·d), from h¹ of u and v (S, 2, d) and of all nodes."""
        senders = torch.bmm(h, self.of_senders)  # (S, N, d)
        receivers = self.of_receivers.forward(nodes)
        seeds, count, d = h.shape
        torch.add(senders.unsqueeze(2), receivers.unsqueeze(1), out=out.view(seeds, count, 2, d))
        if self.undone:
            self.tape.append(nodes)

    def backward(self, uv: Tensor, d_sums: Tensor, h: Tensor, d_h: Tensor) -> None:
        """Add the gradients of senders and receivers from `d_sums` (S, N, 2·d) to `d_h` (S, N, d)."""
        nodes = self.tape.pop()
        by_receiver = d_sums.view(*h.shape[:2], 2, h.shape[2])
        d_senders, d_receivers = by_receiver.sum(2), by_receiver.sum(1)  # (S, N, d), (S, 2, d)
        self.d_of_senders.add_product(h, d_senders)
        d_h.baddbmm_(d_senders, self.of_senders_t)
        d_h.index_add_(1, uv, self.of_receivers.backward(nodes, d_receivers))

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        d_w = torch.cat([self.d_of_senders(), self.of_receivers.d_w()], dim=1)
        return {"edge1.w1": d_w, "edge1.b1": self.of_receivers.d_b()}


class IncomingEdges:
    """Eq. 8 for edges from every node into u and v, and the mean over them that eq. 9 starts from."""

    def __init__(
        self, weights: dict[str, Tensor], bilinear: bool, h: Tensor, workspace: Workspace, undone: int
    ) -> None:
        self.undone = undone
        self.first = (BilinearIncoming if bilinear else ConcatIncoming)(weights, undone)
        self.w2, self.b2 = weights["edge1.w2"], weights["edge1.b2"]
        self.w2_t = self.w2.transpose(1, 2).contiguous()
        self.d_w2, self.d_b2 = Total(), Total()
        seeds, nodes, d = h.shape
        shape = (max(undone, 1), seeds, nodes, 2 * d)
        self.hidden, self.edges = (workspace.block(name, shape, h.dtype) for name in ("hidden", "edges"))
        self.scratch, self.d_hidden, self.d_edges = (
            workspace.block(name, shape[1:], h.dtype) for name in ("scratch", "d_hidden", "d_edges")
        )

    def forward(self, b: int, uv: Tensor, nodes: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean over edges into u and into v, and the edges (u, v) and (v, u), both (S, 2, d).

        Inputs: h¹ of u and v (S, 2, d) and of all nodes (S, N, d).
        """
        seeds, count, d = h.shape
        at = b if self.undone else 0
        hidden, edges = self.hidden[at], self.edges[at].view(seeds, 2 * count, d)
        self.first.forward(nodes, h, out=hidden)
        elu_(hidden, self.scratch)
        torch.baddbmm(self.b2, hidden.view(seeds, 2 * count, d), self.w2, out=edges)
        elu_(edges, self.scratch.view_as(edges))
        by_edge = edges.view(seeds, count, 2, d)
        block = by_edge.index_select(1, uv)  # (S, sender u v, receiver u v, d)
        loops = block.diagonal(dim1=1, dim2=2).transpose(1, 2)  # (S, 2, d): self-loops to subtract
        pair = block.flip(2).diagonal(dim1=1, dim2=2).transpose(1, 2).contiguous()  # (S, edge uv vu, d)
        return (by_edge.sum(1) - loops) / (count - 1), pair

    def backward(self, b: int, uv: Tensor, d_mean: Tensor, d_pair: Tensor, h: Tensor, d_h: Tensor) -> None:
        """Add to `d_h` (S, N, d) the gradients through the mean and through the pair's edges."""
        seeds, count, d = h.shape
        hidden, by_edge = self.hidden[b], self.edges[b].view(seeds, count, 2, d)
        d_incoming = d_mean / (count - 1)
        d_edges = self.d_edges.view(seeds, count, 2, d)
        elu_gradient(d_incoming.unsqueeze(1).expand_as(by_edge), by_edge, out=d_edges)
        d_block = torch.zeros(seeds, 2, 2, d, dtype=h.dtype)  # (S, sender, receiver, d); self-loops stay 0
        d_block[:, 0, 1] = d_incoming[:, 1] + d_pair[:, 0]
        d_block[:, 1, 0] = d_incoming[:, 0] + d_pair[:, 1]
        d_edges.index_copy_(1, uv, elu_gradient(d_block, by_edge.index_select(1, uv)))
        d_edges = d_edges.view(seeds, 2 * count, d)
        self.d_w2.add_product(hidden.view(seeds, 2 * count, d), d_edges)
        self.d_b2.add_sum(d_edges)
        torch.bmm(d_edges, self.w2_t, out=self.d_hidden.view(seeds, 2 * count, d))
        d_sums = elu_gradient(self.d_hidden, hidden, out=self.d_hidden)
        self.first.backward(uv, d_sums, h, d_h)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        return {**self.first.gradients(), "edge1.w2": self.d_w2(), "edge1.b2": self.d_b2()}


class BilinearPair:
    """The first layer of the last edge network: a bilinear map of u and v, and a linear one of `skip`."""

    def __init__(self, weights: dict[str, Tensor], edge: str, undone: int) -> None:
        self.edge, self.undone = edge, undone
        self.b1 = weights[f"{edge}.b1"]
        self.fold = Linear(weights[f"{edge}.fold"])
        self.skip = Linear(weights[f"{edge}.skip"]) if f"{edge}.skip" in weights else None
        self.d_sums: list[Tensor] = []
        self.tape: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def forward(self, nodes: Tensor, skip: Tensor | None) -> Tensor:
        """Return pre-activations of edges (u, v) and (v, u) from the states of u and v, all (S, 2, d)."""
        seeds, _, d = nodes.shape
        mixed = self.fold.forward(nodes.flip(1)).view(2 * seeds, d, d)
        sums = torch.bmm(nodes.view(2 * seeds, 1, d), mixed).view(seeds, 2, d) + self.b1
        if self.skip is not None:
            assert skip is not None
            sums = torch.baddbmm(sums, skip, self.skip.w)
        if self.undone:
            self.tape.append((nodes, mixed, skip))
        return sums

    def backward(self, d_sums: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return d_nodes and d_skip of the latest event on the tape."""
        nodes, mixed, skip = self.tape.pop()
        seeds, _, d = nodes.shape
        self.d_sums.append(d_sums)
        d_senders = torch.bmm(mixed, d_sums.view(2 * seeds, d, 1)).view(seeds, 2, d)
        d_mixed = torch.bmm(nodes.reshape(2 * seeds, d, 1), d_sums.view(2 * seeds, 1, d))
        d_receivers = self.fold.backward(nodes.flip(1), d_mixed.view(seeds, 2, d * d))
        d_nodes = d_senders + d_receivers.flip(1)
        if self.skip is None:
            return d_nodes, None
        assert skip is not None
        return d_nodes, self.skip.backward(skip, d_sums)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        d_weights = {
            f"{self.edge}.fold": self.fold.d_w(),
            f"{self.edge}.b1": torch.cat(self.d_sums, 1).sum(1, keepdim=True),
        }
        return d_weights if self.skip is None else d_weights | {f"{self.edge}.skip": self.skip.d_w()}


class ConcatPair:
    """The first layer of the last edge network: a linear map of u, v and, with two passes, `skip`."""

    def __init__(self, weights: dict[str, Tensor], edge: str, undone: int) -> None:
        self.edge, self.undone = edge, undone
        self.linear = Linear(weights[f"{edge}.w1"], weights[f"{edge}.b1"])
        self.tape: list[Tensor] = []

    def forward(self, nodes: Tensor, skip: Tensor | None) -> Tensor:
        """Return pre-activations of edges (u, v) and (v, u) from the states of u and v, all (S, 2, d)."""
        parts = [nodes, nodes.flip(1)] if skip is None else [nodes, nodes.flip(1), skip]
        inputs = torch.cat(parts, dim=2)
        if self.undone:
            self.tape.append(inputs)
        return self.linear.forward(inputs)

    def backward(self, d_sums: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return d_nodes and d_skip of the latest event on the tape."""
        inputs = self.tape.pop()
        d = d_sums.shape[2]
        d_inputs = self.linear.backward(inputs, d_sums)
        d_nodes = d_inputs[:, :, :d] + d_inputs[:, :, d : 2 * d].flip(1)
        return d_nodes, d_inputs[:, :, 2 * d :] if inputs.shape[2] > 2 * d else None

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        return {f"{self.edge}.w1": self.linear.d_w(), f"{self.edge}.b1": self.linear.d_b()}


class LastEdges:
    """Eq. 10 (eq. 8 with one pass) for edges (u, v) and (v, u), and the linear layer that gives logits."""

    def __init__(self, weights: dict[str, Tensor], bilinear: bool, edge: str, undone: int) -> None:
        self.edge, self.undone = edge, undone
        self.first = (BilinearPair if bilinear else ConcatPair)(weights, edge, undone)
        self.second = Linear(weights[f"{edge}.w2"], weights[f"{edge}.b2"])
        self.out = Linear(weights["out.w"], weights["out.b"])
        self.tape: list[tuple[Tensor, Tensor]] = []

    def forward(self, nodes: Tensor, skip: Tensor | None) -> Tensor:
        """Return logits (S, 2, r') from states of u and v and the first-pass edges between them (S, 2, d)."""
        hidden = elu_(self.first.forward(nodes, skip))
        output = elu_(self.second.forward(hidden))
        if self.undone:
            self.tape.append((hidden, output))
        return self.out.forward(output)

    def backward(self, d_logits: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return d_nodes and d_skip of the latest event on the tape."""
        hidden, output = self.tape.pop()
        d_second = elu_gradient(self.out.backward(output, d_logits), output)
        d_first = elu_gradient(self.second.backward(hidden, d_second), hidden)
        return self.first.backward(d_first)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        return {
            **self.first.gradients(),
            f"{self.edge}.w2": self.second.d_w(),
            f"{self.edge}.b2": self.second.d_b(),
            "out.w": self.out.d_w(),
            "out.b": self.out.d_b(),
        }


class Encoder:
    """The encoder of one batch of events; h¹ of all nodes is cached and updated two rows at a time."""

    def __init__(
        self, variant: Variant, weights: dict[str, Tensor], z: Tensor, workspace: Workspace, undone: int
    ) -> None:
        """Compute h¹ of `z` (S, N, d); `undone` is the number of events to backpropagate, 0 for none."""
        two_pass, bilinear = variant.passes == 2, variant.of_encoder == BILINEAR
        self.undone = undone
        self.node1 = Network(weights, "node1", undone, view=True)
        self.h = self.node1.forward(z).clone()  # (S, N, d): h¹, eq. 7
        self.incoming = IncomingEdges(weights, bilinear, z, workspace, undone) if two_pass else None
        self.node2 = Network(weights, "node2", undone) if two_pass else None
        self.last = LastEdges(weights, bilinear, "edge2" if two_pass else "edge1", undone)
        self.tape: list[Tensor] = []

    def forward(self, b: int, uv: Tensor) -> Tensor:
        """Return logits of S_uv and S_vu (S, 2, r') from Z before event `b`: eqs. 8–10."""
        nodes = self.h.index_select(1, uv)  # (S, 2, d)
        if self.undone:
            self.tape.append(nodes)
        if self.incoming is None or self.node2 is None:
            return self.last.forward(nodes, None)
        mean, pair = self.incoming.forward(b, uv, nodes, self.h)
        return self.last.forward(self.node2.forward(mean), pair)

    def backward(self, b: int, uv: Tensor, d_logits: Tensor) -> None:
        """Backpropagate event `b`; restore h¹ and update its gradient to those before the event."""
        self.h.index_copy_(1, uv, self.tape.pop())
        d_nodes, d_pair = self.last.backward(d_logits)
        if self.incoming is None or self.node2 is None:
            self.d_h.index_add_(1, uv, d_nodes)
            return
        assert d_pair is not None
        self.incoming.backward(b, uv, self.node2.backward(d_nodes), d_pair, self.h, self.d_h)

    def refresh(self, uv: Tensor, new: Tensor) -> None:
        """Recompute h¹ of u and v from their new embeddings (S, 2, d): eq. 7."""
        self.h.index_copy_(1, uv, self.node1.forward(new))

    def refresh_backward(self, uv: Tensor, d_new: Tensor) -> Tensor:
        """Return `d_new` plus the gradient through h¹ of u and v, whose own gradient is reset to zero."""
        d_new = self.node1.backward(self.d_h.index_select(1, uv), onto=d_new)
        self.d_h.index_fill_(1, uv, 0.0)
        return d_new

    def start_backward(self) -> None:
        """Initialize the gradient of h¹ to zero."""
        self.d_h = torch.zeros_like(self.h)  # of the rows that are current at the event in progress

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by folded weight name; call after `backward` of every event."""
        self.node1.backward(self.d_h)  # h¹ of all nodes before the batch
        d_weights = self.node1.gradients() | self.last.gradients()
        for layer in (self.incoming, self.node2):
            if layer is not None:
                d_weights |= layer.gradients()
        return d_weights
