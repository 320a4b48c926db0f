"""LDG's encoder (eqs. 8–12): attention between u and v from all embeddings, with its gradient written out.

Only edges into u and v are ever used, so one event costs 2(N − 1) first-pass edges. The products of weights
that do not change within a batch are folded once a batch by autograd; the per-event part below is explicit,
because at d = 32 the bookkeeping of automatic differentiation costs more than the arithmetic. S: seeds, N:
nodes, d: width.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from model.functions import elu_
from pipeline.variants import Variant

KEPT = ("hidden1", "edges1")  # what every event of a batch keeps for its gradient
elu_backward = torch.ops.aten.elu_backward


def elu_gradient(gradient: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """Gradient before an ELU from the gradient after it and its output."""
    if out is None:
        return elu_backward(gradient, 1.0, 1.0, 1.0, True, output)
    return elu_backward.grad_input(gradient, 1.0, 1.0, 1.0, True, output, grad_input=out)


def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """ELU(x w + b) of rows x (S, R, ·); b is (S, 1, ·)."""
    return elu_(torch.baddbmm(b, x, w))


def network(x: Tensor, weights: dict[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    """A two-layer ELU network: its hidden layer and its output."""
    hidden = layer(x, weights[f"{name}.w1"], weights[f"{name}.b1"])
    return hidden, layer(hidden, weights[f"{name}.w2"], weights[f"{name}.b2"])


def folded_weights(variant: Variant, named: dict[str, Tensor]) -> dict[str, Tensor]:
    """The encoder's weights as the event loop wants them.

    A bilinear layer followed by a linear one is one bilinear map: `pair` W and `w1` become `fold` (S, d,
    d·d), from (receiver) to (sender, output).
    """
    weights = {name.removeprefix("encoder."): w for name, w in named.items() if name.startswith("encoder.")}
    if variant.of_encoder == "bilinear":
        for edge in ("edge1", "edge2")[: variant.passes]:
            pair, w1 = weights.pop(f"{edge}.pair"), weights.pop(f"{edge}.w1")
            seeds, d = pair.shape[:2]
            weights[f"{edge}.fold"] = (pair.view(seeds, d * d, d) @ w1[:, :d]).view(seeds, d, d * d)
            if edge == "edge2":
                weights[f"{edge}.skip"] = w1[:, d:].contiguous()
    return {name: w.contiguous() if w.dim() == 3 else w.unsqueeze(1) for name, w in weights.items()}


class Rows:
    """Rows that meet a weight once an event, kept so that its gradient is one product after the loop."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []

    def add(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep one event's rows: inputs (S, R, a), gradient of the outputs (S, R, b)."""
        self.inputs.append(inputs)
        self.gradients.append(gradient)

    def weight(self) -> Tensor:
        """Gradient of the weight: (S, a, b)."""
        return torch.cat(self.inputs, 1).transpose(1, 2) @ torch.cat(self.gradients, 1)

    def bias(self) -> Tensor:
        """Gradient of the bias: (S, 1, b)."""
        return torch.cat(self.gradients, 1).sum(1, keepdim=True)


@dataclass
class Trace:
    """What one event leaves for its gradient."""

    nodes: Tensor  # (S, 2, d): h¹ of u and v
    logits: Tensor = field(default_factory=torch.Tensor)  # (S, 2, r')
    hidden1: Tensor | None = None  # (S, N, 2·d), first-pass edges into u and v: first layer
    edges1: Tensor | None = None  # (S, 2·N, d): second layer
    mixed: Tensor | None = None  # (S, d, 2·d): W¹ folded, contracted with h¹ of the receivers
    received: Tensor | None = None  # (S, 2, d): mean over incoming edges
    node2: tuple[Tensor, Tensor] | None = None
    final: tuple[Tensor, ...] = ()


class Encoder:
    """The encoder of one batch of events: `forward` in stream order, then `backward` in reverse, then
    `gradients`.
    """

    def __init__(
        self, variant: Variant, weights: dict[str, Tensor], workspace: dict[str, Tensor], keep: int
    ) -> None:
        self.two_pass = variant.passes == 2
        self.bilinear = variant.of_encoder == "bilinear"
        self.weights = weights
        self.transposed = {
            name: w.transpose(1, 2).contiguous() for name, w in weights.items() if w.shape[1] > 1
        }
        self.bias_twice = weights["edge1.b1"].repeat(1, 1, 2)  # for both receivers at once
        self.workspace, self.keep = workspace, keep
        self.rows: dict[str, Rows] = {}
        self.sums: dict[str, Tensor] = {}

    # ---- forward

    def forward(self, event: int, uv: Tensor, h: Tensor) -> Trace:
        """Logits of the edges (u, v) and (v, u) from h¹ of all nodes (S, N, d); `event` counts within the
        batch.
        """
        trace = Trace(h.index_select(1, uv))
        if not self.two_pass:
            trace.logits, trace.final = self.pair_forward("edge1", trace.nodes, None)
            return trace
        seeds, nodes, d = h.shape
        hidden, edges = self.first_pass(event, trace, h)
        block = edges.view(seeds, nodes, 2, d).index_select(1, uv)  # (S, sender u v, receiver u v, d)
        own = block.diagonal(dim1=1, dim2=2).transpose(1, 2)  # (S, 2, d): the self-loops, which are no edges
        skip = block.flip(2).diagonal(dim1=1, dim2=2).transpose(1, 2).contiguous()  # (S, edge uv vu, d)
        trace.hidden1, trace.edges1 = hidden, edges
        trace.received = (edges.view(seeds, nodes, 2, d).sum(1) - own) / (nodes - 1)
        trace.node2 = network(trace.received, self.weights, "node2")
        trace.logits, trace.final = self.pair_forward("edge2", trace.node2[1], skip)
        return trace

    def first_pass(self, event: int, trace: Trace, h: Tensor) -> tuple[Tensor, Tensor]:
        """First-pass edges from every node into u and v: both layers of f_edge¹, in kept memory."""
        w = self.weights
        seeds, nodes, d = h.shape
        hidden = self.memory("hidden1", event, (seeds, nodes, 2 * d), h)
        edges = self.memory("edges1", event, (seeds, 2 * nodes, d), h)
        if self.bilinear:
            mixed = torch.bmm(trace.nodes, w["edge1.fold"]).view(
                seeds, 2, d, d
            )  # (S, receiver, sender, output)
            trace.mixed = mixed.transpose(1, 2).reshape(seeds, d, 2 * d)
            torch.baddbmm(self.bias_twice, h, trace.mixed, out=hidden)
        else:
            senders = torch.bmm(h, w["edge1.w1"][:, :d])  # (S, N, d)
            receivers = torch.baddbmm(w["edge1.b1"], trace.nodes, w["edge1.w1"][:, d:])
            torch.add(senders.unsqueeze(2), receivers.unsqueeze(1), out=hidden.view(seeds, nodes, 2, d))
        scratch = self.memory("scratch", 0, (seeds, nodes, 2 * d), h)
        elu_(hidden, scratch)
        torch.baddbmm(w["edge1.b2"], hidden.view(seeds, 2 * nodes, d), w["edge1.w2"], out=edges)
        elu_(edges, scratch.view_as(edges))
        return hidden, edges

    def pair_forward(
        self, edge: str, nodes: Tensor, skip: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Edges (u, v) and (v, u) from node states (S, 2, d) [and first-pass edges]: logits, and what was on
        the way.
        """
        w = self.weights
        seeds, _, d = nodes.shape
        receivers = nodes.flip(1)
        if self.bilinear:
            mixed = torch.bmm(receivers, w[f"{edge}.fold"]).view(2 * seeds, d, d)
            summed = torch.bmm(nodes.view(2 * seeds, 1, d), mixed).view(seeds, 2, d) + w[f"{edge}.b1"]
            if skip is not None:
                summed = torch.baddbmm(summed, skip, w[f"{edge}.skip"])
            inputs = skip if skip is not None else nodes
        else:
            mixed = nodes
            inputs = torch.cat([nodes, receivers] if skip is None else [nodes, receivers, skip], dim=2)
            summed = torch.baddbmm(w[f"{edge}.b1"], inputs, w[f"{edge}.w1"])
        hidden = elu_(summed)
        output = layer(hidden, w[f"{edge}.w2"], w[f"{edge}.b2"])
        logits = torch.baddbmm(w["out.b"], output, w["out.w"])
        return logits, (nodes, mixed, inputs, hidden, output)

    def memory(self, name: str, event: int, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Memory that lives over batches: fresh pages for every event cost as much as filling them."""
        events = self.keep if name in KEPT else 1
        kept = self.workspace.get(name)
        if kept is None or kept.shape[1:] != shape or len(kept) < events or kept.dtype != like.dtype:
            kept = self.workspace[name] = like.new_empty((events, *shape))
        return kept[event % events]

    # ---- backward

    def backward(self, uv: Tensor, trace: Trace, gradient: Tensor, h: Tensor, of_h: Tensor) -> None:
        """Add to `of_h` (S, N, d) the gradient of h¹ given that of the logits (S, 2, r')."""
        if not self.two_pass:
            of_nodes, _ = self.pair_backward("edge1", trace.final, gradient, skips=False)
            of_h.index_add_(1, uv, of_nodes)
            return
        assert trace.node2 is not None
        assert trace.received is not None
        of_node2, of_skip = self.pair_backward("edge2", trace.final, gradient, skips=True)
        assert of_skip is not None
        hidden, output = trace.node2
        of_output = elu_gradient(of_node2, output)
        of_hidden = elu_gradient(torch.bmm(of_output, self.transposed["node2.w2"]), hidden)
        self.keep_rows("node2.2", hidden, of_output)
        self.keep_rows("node2.1", trace.received, of_hidden)
        of_received = torch.bmm(of_hidden, self.transposed["node2.w1"]) / (h.shape[1] - 1)
        self.first_pass_backward(uv, trace, of_received, of_skip, h, of_h)

    def first_pass_backward(
        self, uv: Tensor, trace: Trace, of_received: Tensor, of_skip: Tensor, h: Tensor, of_h: Tensor
    ) -> None:
        """Through f_edge¹: every edge into u or v feeds the mean; (u, v) and (v, u) feed the skip connection
        too.
        """
        hidden, edges = trace.hidden1, trace.edges1
        assert hidden is not None
        assert edges is not None
        seeds, nodes, d = h.shape
        by_edge = edges.view(seeds, nodes, 2, d)
        of_edges = self.memory("of_edges", 0, (seeds, nodes, 2, d), h)
        elu_gradient(of_received.unsqueeze(1).expand_as(by_edge), by_edge, out=of_edges)
        block = torch.zeros(seeds, 2, 2, d, dtype=h.dtype)  # (S, sender, receiver, d); self-loops stay 0
        block[:, 0, 1] = of_received[:, 1] + of_skip[:, 0]
        block[:, 1, 0] = of_received[:, 0] + of_skip[:, 1]
        of_edges.index_copy_(1, uv, elu_gradient(block, by_edge.index_select(1, uv)))
        of_edges = of_edges.view(seeds, 2 * nodes, d)
        self.accumulate("edge1.w2", hidden.view(seeds, 2 * nodes, d), of_edges)
        self.add_sum("edge1.b2", of_edges)
        of_hidden = self.memory("of_hidden", 0, (seeds, 2 * nodes, d), h)
        torch.bmm(of_edges, self.transposed["edge1.w2"], out=of_hidden)
        of_hidden = elu_gradient(of_hidden.view_as(hidden), hidden, out=of_hidden.view_as(hidden))
        if self.bilinear:
            assert trace.mixed is not None
            of_mixed = torch.bmm(h.transpose(1, 2), of_hidden).view(seeds, d, 2, d).transpose(1, 2)
            of_mixed = of_mixed.reshape(seeds, 2, d * d)
            of_h.baddbmm_(of_hidden, trace.mixed.transpose(1, 2))
            self.keep_rows("edge1.fold", trace.nodes, of_mixed)
            self.add_sum("edge1.b1", of_hidden.view(seeds, 2 * nodes, d))
            of_nodes = torch.bmm(of_mixed, self.transposed["edge1.fold"])
        else:
            by_receiver = of_hidden.view(seeds, nodes, 2, d)
            of_senders = by_receiver.sum(2)  # (S, N, d)
            of_receivers = by_receiver.sum(1)  # (S, 2, d)
            self.accumulate("edge1.senders", h, of_senders)
            of_h.baddbmm_(of_senders, self.transposed["edge1.w1"][:, :, :d])
            self.keep_rows("edge1.receivers", trace.nodes, of_receivers)
            of_nodes = torch.bmm(of_receivers, self.transposed["edge1.w1"][:, :, d:])
        of_h.index_add_(1, uv, of_nodes)

    def pair_backward(
        self, edge: str, final: tuple[Tensor, ...], gradient: Tensor, skips: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Gradient of the node states (S, 2, d) and of the first-pass edges of `pair_forward`."""
        nodes, mixed, inputs, hidden, output = final
        seeds, _, d = nodes.shape
        of_output = elu_gradient(torch.bmm(gradient, self.transposed["out.w"]), output)
        of_hidden = elu_gradient(torch.bmm(of_output, self.transposed[f"{edge}.w2"]), hidden)
        self.keep_rows("out", output, gradient)
        self.keep_rows(f"{edge}.2", hidden, of_output)
        self.keep_rows(f"{edge}.1", inputs, of_hidden)
        if self.bilinear:
            of_senders = torch.bmm(mixed, of_hidden.view(2 * seeds, d, 1)).view(seeds, 2, d)
            of_mixed = torch.bmm(nodes.reshape(2 * seeds, d, 1), of_hidden.view(2 * seeds, 1, d)).view(
                seeds, 2, d * d
            )
            self.keep_rows(f"{edge}.fold", nodes.flip(1), of_mixed)
            of_nodes = of_senders + torch.bmm(of_mixed, self.transposed[f"{edge}.fold"]).flip(1)
            return of_nodes, torch.bmm(of_hidden, self.transposed[f"{edge}.skip"]) if skips else None
        of_inputs = torch.bmm(of_hidden, self.transposed[f"{edge}.w1"])
        of_nodes = of_inputs[:, :, :d] + of_inputs[:, :, d : 2 * d].flip(1)
        return of_nodes, of_inputs[:, :, 2 * d :] if skips else None

    def keep_rows(self, name: str, inputs: Tensor, gradient: Tensor) -> None:
        """Keep small rows whose weight's gradient is computed after the loop."""
        self.rows.setdefault(name, Rows()).add(inputs, gradient)

    def accumulate(self, name: str, inputs: Tensor, gradient: Tensor) -> None:
        """Add the gradient of a weight that meets all N rows at once."""
        if name not in self.sums:
            self.sums[name] = torch.bmm(inputs.transpose(1, 2), gradient)
        else:
            self.sums[name].baddbmm_(inputs.transpose(1, 2), gradient)

    def add_sum(self, name: str, gradient: Tensor) -> None:
        """Add the gradient of a bias over rows (S, R, d)."""
        self.sums[name] = gradient.sum(1, keepdim=True) + self.sums.get(name, 0)

    def gradients(self) -> dict[str, Tensor]:
        """Gradients of the folded weights, by name."""
        rows, sums = self.rows, self.sums
        found = {"out.w": rows["out"].weight(), "out.b": rows["out"].bias()}
        last = "edge2" if self.two_pass else "edge1"
        found |= {f"{last}.w2": rows[f"{last}.2"].weight(), f"{last}.b2": rows[f"{last}.2"].bias()}
        found[f"{last}.b1"] = rows[f"{last}.1"].bias()
        if self.bilinear:
            found[f"{last}.fold"] = rows[f"{last}.fold"].weight()
            if self.two_pass:
                found[f"{last}.skip"] = rows[f"{last}.1"].weight()
        else:
            found[f"{last}.w1"] = rows[f"{last}.1"].weight()
        if not self.two_pass:
            return found
        for step in ("1", "2"):
            found[f"node2.w{step}"] = rows[f"node2.{step}"].weight()
            found[f"node2.b{step}"] = rows[f"node2.{step}"].bias()
        found |= {"edge1.w2": sums["edge1.w2"], "edge1.b2": sums["edge1.b2"]}
        if self.bilinear:
            found |= {"edge1.fold": rows["edge1.fold"].weight(), "edge1.b1": sums["edge1.b1"]}
        else:
            receivers = rows["edge1.receivers"]
            found["edge1.w1"] = torch.cat([sums["edge1.senders"], receivers.weight()], dim=1)
            found["edge1.b1"] = receivers.bias()
        return found
