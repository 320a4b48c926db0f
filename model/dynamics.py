"""How a batch of events moves the stream's state (eqs. 2–4): the part of the model that is sequential.

Everything an event needs that no parameter touches (clocks, neighbours, which version of a row is current)
is laid out beforehand by `plan_batch`. `EventLoop` then carries all seeds through the batch and keeps
versions of the rows of Z instead of copies of it: row i < N is node i before the batch, rows N + 2b and N +
2b + 1 are u and v after event b. Intensities of any pair at any event are read from these versions
afterwards. S: seeds, N: nodes, B: events, d: width.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from model.attention import (
    Aggregate,
    AttentionRows,
    aggregate,
    aggregate_backward,
    aggregate_features,
    dyrep_rows,
    learned_rows,
    learned_rows_backward,
    slot_softmax,
    softmax_backward,
)
from model.encoder import Encoder, Rows, Trace, elu_gradient, folded_weights, network
from model.functions import sigmoid_, sigmoid_gradient
from model.intensity import intensity, symmetric_compatibility
from model.state import State
from model.stream import ASSOCIATION, Stream
from pipeline.variants import Variant

WAITING_SCALES = (50.0, 7.0, 15.0, 15.0)  # days, hours, minutes, seconds
TEMPERATURE = 0.5
NEVER = -1


@dataclass
class Step:
    """One event as the loop wants it."""

    uv: Tensor  # (2)
    rows: Tensor  # (S·2): rows u and v of each seed, counted over seeds and nodes
    width: int  # slots of the wider of the two rows before the event
    neighbours: Tensor  # (S·2·K) rows of W_h Z seen as (S·N, d)
    slots: Tensor | None = None  # (S, 2, 1): where the pair's entries are, when the attention may change
    width_after: int = 0
    share: Tensor | None = None  # (S, 2): DyRep's b
    loss: Tensor | None = None  # (S, 2): DyRep's x, for an association
    applies: Tensor | None = None  # (S): where the rule applies, if not everywhere


@dataclass
class Batch:
    """Events in a row and what is known of them beforehand."""

    now: np.ndarray  # (B): how many events of the stream passed before each
    u: np.ndarray  # (B)
    v: np.ndarray
    kinds: Tensor  # (B)
    waiting: Tensor  # (B, 2, 4)
    versions: np.ndarray  # (B, N): the row of each node's embedding before each event
    heard: np.ndarray  # (B, N): how many events of the stream had passed at each node's clock
    steps: list[Step]

    def __len__(self) -> int:
        return len(self.u)


def plan_batch(stream: Stream, variant: Variant, state: State, stop: int) -> Batch:
    """Lay out the events from the state's position to `stop`; clocks and neighbours in `state` move on to
    `stop`.
    """
    start, nodes = state.position, stream.nodes
    u, v, k = stream.u[start:stop], stream.v[start:stop], stream.k[start:stop]
    events = len(u)
    versions = np.empty((events, nodes), dtype=np.int64)
    heard = np.empty((events, nodes), dtype=np.int64)
    heard_by = np.searchsorted(stream.seconds, state.clock, side="right")  # (N)
    after = np.searchsorted(stream.seconds, stream.seconds[start:stop], side="right")  # (B)
    waiting = np.empty((events, 2))
    current = np.arange(nodes)
    steps = []
    seeds = len(state.z)
    ends_of = torch.from_numpy(np.stack([u, v], axis=1))  # (B, 2)
    rows_of = (torch.arange(seeds)[:, None] * nodes + ends_of[:, None]).view(events, -1)  # (B, S·2)
    places = list(zip(ends_of.unbind(), rows_of.unbind(), strict=True))
    for b in range(events):
        i, j, now = int(u[b]), int(v[b]), stream.seconds[start + b]
        versions[b], heard[b] = current, heard_by
        waiting[b] = now - state.clock[i], now - state.clock[j]
        if variant.is_recurrent:
            steps.append(plan_step(variant, state.attention, i, j, int(k[b]), state.z.dtype, *places[b]))
            current[i], current[j] = nodes + 2 * b, nodes + 2 * b + 1
        elif k[b] == ASSOCIATION:
            state.attention.join(i, j)
        state.clock[i] = state.clock[j] = now
        heard_by[i] = heard_by[j] = after[b]
    state.position = stop
    return Batch(
        now=np.arange(start, stop),
        u=u,
        v=v,
        kinds=torch.from_numpy(k),
        waiting=waiting_features(waiting).to(state.z.dtype),
        versions=versions,
        heard=heard,
        steps=steps,
    )


def waiting_features(seconds: np.ndarray) -> Tensor:
    """Waiting times as days, hours, minutes and seconds, scaled: (…, 4)."""
    days, rest = np.divmod(seconds, 86400)
    hours, rest = np.divmod(rest, 3600)
    minutes, rest = np.divmod(rest, 60)
    return torch.from_numpy(np.stack([days, hours, minutes, rest], axis=-1) / WAITING_SCALES)


def plan_step(
    variant: Variant,
    attention: AttentionRows,
    u: int,
    v: int,
    k: int,
    dtype: torch.dtype,
    uv: Tensor,
    rows: Tensor,
) -> Step:
    """One event's neighbours before it, and where its pair's attention is kept after it."""
    neighbours, width = attention.neighbours(u, v)
    seeds, nodes = attention.count.shape
    places = np.maximum(neighbours, 0) + (np.arange(seeds) * nodes)[:, None, None]
    step = Step(uv, rows, width, torch.from_numpy(places.reshape(-1)))
    if variant.attention == "random":
        return step
    applies = np.ones(seeds, dtype=bool)
    before = attention.count[:, (u, v)]  # (S, 2)
    if variant.attention == "learned" or k == ASSOCIATION:
        attention.join(u, v)
    else:
        _, applies = attention.slot(u, v)
        if not applies.any():
            return step
    slots = np.stack([attention.slot(u, v)[0], attention.slot(v, u)[0]], axis=1)
    step.slots = torch.from_numpy(slots)[:, :, None]
    step.width_after = max(width, int(slots.max()) + 1)
    if variant.attention == "association":
        share = share_of(attention.count[:, (u, v)])
        step.share = torch.from_numpy(share).to(dtype)
        if k == ASSOCIATION:
            step.loss = torch.from_numpy(share_of(before) - share).to(dtype)
        if not applies.all():
            step.applies = torch.from_numpy(applies)
    return step


def share_of(degrees: np.ndarray) -> np.ndarray:
    """1/deg, and 0 for nodes without associates."""
    return np.where(degrees > 0, 1 / np.maximum(degrees, 1), 0.0)


class EventLoop:
    """Carries the embeddings and the attention of all seeds through one batch, and gradients back through
    it.
    """

    def __init__(
        self,
        variant: Variant,
        state: State,
        batch: Batch,
        named: dict[str, Tensor],
        noise: Tensor | None,
        workspace: dict[str, Tensor],
        differentiable: bool,
    ) -> None:
        self.variant, self.state, self.batch, self.noise = variant, state, batch, noise
        self.learned = variant.attention == "learned"
        self.fixed = variant.attention == "random"
        self.differentiable = differentiable
        self.named = named
        self.workspace = workspace
        self.aggregates: list[Aggregate] = []
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.traces: list[Trace] = []
        self.node1: list[tuple[Tensor, Tensor]] = []
        self.sampled: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def run(self) -> tuple[Tensor, Tensor | None]:
        """The versions of Z's rows (S, N + 2B, d) and, with a learned graph, the logits (B, S, 2, r')."""
        update = torch.cat([self.named[f"update.{part}"] for part in ("attention", "self", "waiting")], dim=1)
        folded = folded_weights(self.variant, self.named) if self.learned else {}
        tensors = [update, self.named["update.neighbour"], *folded.values()]
        if not self.differentiable:
            with torch.no_grad():
                return self.forward(tensors, list(folded))
        versions, logits = Unrolled.apply(self, list(folded), *tensors)
        return versions, logits if self.learned else None

    def forward(self, tensors: list[Tensor], names: list[str]) -> tuple[Tensor, Tensor | None]:
        """All events in order. Leaves the state after the batch in `self.state`."""
        update, neighbour = tensors[:2]
        self.update, self.neighbour = update, neighbour
        self.before = z = self.state.z
        rows = self.state.attention.flat()
        if self.fixed:  # softmax(S) of every row, once
            attention = self.state.attention
            rows = slot_softmax(attention.values, attention.bias).view_as(rows[0]), rows[1]
        seeds, nodes, d = z.shape
        self.z = z = z.clone()
        self.kinds = self.batch.kinds.tolist()
        self.symmetric = symmetric_compatibility(self.named["intensity.compatibility"].detach()).unbind(1)
        self.rates = self.named["intensity.rate"].detach().unbind(1)
        self.rows = rows
        shape = seeds, 2, *self.state.attention.values.shape[2:]
        self.projected = projected = torch.bmm(z, neighbour)  # W_h Z, two rows refreshed an event
        flat = projected.view(seeds * nodes, d)
        waiting = self.batch.waiting.unsqueeze(1).expand(-1, seeds, -1, -1).unbind(0)  # B × (S, 2, 4)
        if self.learned:
            self.weights = dict(zip(names, tensors[2:], strict=True))
            keep = len(self.batch) if self.differentiable else 1
            self.encoder = Encoder(self.variant, self.weights, self.workspace, keep)
            self.hidden0, self.h = network(z, self.weights, "node1")  # h¹ of all nodes
            self.h0 = self.h.clone() if self.differentiable else self.h
        versions = [z.clone()]
        logits: list[Tensor] = []
        for b, step in enumerate(self.batch.steps):
            uv = step.uv
            own = z.index_select(1, uv)  # (S, 2, d)
            values, bias = (kept.index_select(0, step.rows).view(shape) for kept in rows)  # (S, 2, C, r)
            near = flat.index_select(0, step.neighbours).view(seeds, 2, step.width, d)
            weights, absent = values[:, :, : step.width], bias[:, :, : step.width]
            if not self.fixed:
                weights = slot_softmax(weights, absent)
            if self.differentiable:
                felt = aggregate(weights, absent, near, self.learned)
                self.aggregates.append(felt)
                features = felt.features
            else:
                features = aggregate_features(weights, absent, near)
            inputs = torch.cat([features.flip(1), own, waiting[b]], dim=2)
            new = sigmoid_(torch.bmm(inputs, update))  # eq. 2
            if self.learned:
                trace = self.encoder.forward(b, uv, self.h)  # sees Z before the event
                self.attend(b, step, trace, values, bias)
                logits.append(trace.logits)
            elif step.slots is not None:
                self.apply_dyrep_rule(b, step, own, values, bias)
            z.index_copy_(1, uv, new)
            projected.index_copy_(1, uv, torch.bmm(new, neighbour))
            if self.learned:
                node1 = network(new, self.weights, "node1")
                self.h.index_copy_(1, uv, node1[1])
            if self.differentiable:
                self.inputs.append(inputs)
                self.outputs.append(new)
                if self.learned:
                    self.traces.append(trace)
                    self.node1.append(node1)
            versions.append(new)
        self.state.z = z
        return torch.cat(versions, dim=1), torch.stack(logits) if self.learned else None

    def attend(self, b: int, step: Step, trace: Trace, values: Tensor, bias: Tensor) -> None:
        """Sample S_uv and S_vu by Gumbel-softmax; renormalize rows u and v, given as copies (S, 2, C, r)."""
        assert step.slots is not None
        logits = trace.logits if self.noise is None else trace.logits + self.noise[b]
        soft = (logits / TEMPERATURE).softmax(2)  # (S, 2, r')
        sampled = soft[:, :, soft.shape[2] - values.shape[3] :]
        rows, totals = learned_rows(values[:, :, : step.width_after], step.slots, sampled)
        values[:, :, : step.width_after] = rows
        self.put(step, values, bias)
        if self.differentiable:
            self.sampled.append((soft, rows, totals, step.slots))

    def apply_dyrep_rule(self, b: int, step: Step, own: Tensor, values: Tensor, bias: Tensor) -> None:
        """DyRep's Algorithm 1 with the event's intensity as a number: no gradient flows through it."""
        assert step.slots is not None
        assert step.share is not None
        kind = self.kinds[b]
        compatibility, rate = self.symmetric[kind], self.rates[kind]
        if compatibility.dim() == 3:
            g = torch.bmm(torch.bmm(own[:, :1], compatibility), own[:, 1:].transpose(1, 2)).view(-1)  # (S)
        else:
            g = (own.sum(1) * compatibility).sum(1)
        rows = dyrep_rows(
            values[:, :, : step.width_after],
            step.slots,
            step.share,
            step.loss,
            intensity(g, rate),
            step.applies,
        )
        values[:, :, : step.width_after] = rows
        self.put(step, values, bias if kind == ASSOCIATION else None)

    def put(self, step: Step, values: Tensor, bias: Tensor | None) -> None:
        """Store rows u and v; with `bias`, from now on the two are neighbours by every edge type."""
        all_values, all_bias = self.rows
        all_values.index_copy_(0, step.rows, values.view(len(step.rows), -1))
        if bias is not None:
            assert step.slots is not None
            bias.scatter_(2, step.slots.unsqueeze(3).expand(-1, -1, -1, bias.shape[3]), 0.0)
            all_bias.index_copy_(0, step.rows, bias.view(len(step.rows), -1))

    def backward(self, of_versions: Tensor, of_logits: Tensor | None) -> list[Tensor]:
        """Gradients of the tensors given to `forward`, walking the batch backwards.

        `of_z`, `of_projected`, `of_h` and `of_values` hold, for every node, the gradient of the row that is
        current at the event being undone.
        """
        seeds, nodes, d = self.z.shape
        edge_types = self.variant.edge_types
        update_t = self.update.transpose(1, 2).contiguous()
        neighbour_t = self.neighbour.transpose(1, 2).contiguous()
        of_z = torch.zeros_like(self.z)
        of_projected = torch.zeros_like(self.z)
        flat = of_projected.view(-1)
        features = torch.arange(d).repeat(edge_types)
        updates, neighbours, first, second = Rows(), Rows(), Rows(), Rows()
        if self.learned:
            of_h = torch.zeros_like(self.z)
            of_values = torch.zeros_like(self.state.attention.values)
            w1_t, w2_t = self.weights["node1.w1"].transpose(1, 2), self.weights["node1.w2"].transpose(1, 2)
        for b in range(len(self.batch) - 1, -1, -1):
            step, felt, new = self.batch.steps[b], self.aggregates[b], self.outputs[b]
            uv = step.uv
            at = nodes + 2 * b
            of_new_projected = of_projected.index_select(1, uv)
            neighbours.add(new, of_new_projected)
            of_new = of_z.index_select(1, uv) + of_versions[:, at : at + 2]
            of_new = torch.baddbmm(of_new, of_new_projected, neighbour_t)
            of_projected.index_fill_(1, uv, 0.0)
            if self.learned:
                hidden, output = self.node1[b]
                of_output = elu_gradient(of_h.index_select(1, uv), output)
                of_hidden = elu_gradient(torch.bmm(of_output, w2_t), hidden)
                second.add(hidden, of_output)
                first.add(new, of_hidden)
                of_new = torch.baddbmm(of_new, of_hidden, w1_t)
                of_h.index_fill_(1, uv, 0.0)
                trace = self.traces[b]
                self.h.index_copy_(1, uv, trace.nodes)  # h¹ as it was before the event
                assert of_logits is not None
                of_sample = self.attend_backward(b, step, of_values)
                self.encoder.backward(uv, trace, of_sample + of_logits[b], self.h, of_h)
            of_sum = sigmoid_gradient(of_new, new)
            updates.add(self.inputs[b], of_sum)
            of_inputs = torch.bmm(of_sum, update_t)
            of_z.index_copy_(1, uv, of_inputs[:, :, edge_types * d : (edge_types + 1) * d])
            of_felt = of_inputs[:, :, : edge_types * d].flip(1)
            of_largest, of_strongest = aggregate_backward(of_felt, felt)
            source = step.neighbours.view(seeds, 2, step.width).gather(2, felt.strongest.view(seeds, 2, -1))
            flat.index_add_(0, (source * d + features).view(-1), of_strongest.reshape(-1))
            if self.learned:
                add_to_rows(of_values, step, softmax_backward(of_largest, felt))
        neighbours.add(self.before, of_projected)
        found = [updates.weight(), neighbours.weight()]
        if not self.learned:
            return found
        of_output = elu_gradient(of_h, self.h0)
        of_hidden = elu_gradient(torch.bmm(of_output, w2_t), self.hidden0)
        second.add(self.hidden0, of_output)
        first.add(self.before, of_hidden)
        by_name = self.encoder.gradients()
        by_name |= {"node1.w1": first.weight(), "node1.b1": first.bias()}
        by_name |= {"node1.w2": second.weight(), "node1.b2": second.bias()}
        return found + [by_name[name] for name in self.weights]

    def attend_backward(self, b: int, step: Step, of_values: Tensor) -> Tensor:
        """Gradient of the logits (S, 2, r') from that of rows u and v, which become the rows before the
        event.
        """
        soft, rows, totals, slots = self.sampled[b]
        seeds, nodes, width, edge_types = of_values.shape
        flat = of_values.view(seeds * nodes, -1)
        current = flat.index_select(0, step.rows).view(seeds, 2, width, edge_types)
        used = current[:, :, : step.width_after]
        of_before, of_entry = learned_rows_backward(used, rows, totals, slots)
        used.copy_(of_before)
        flat.index_copy_(0, step.rows, current.view(2 * seeds, -1))
        of_soft = torch.zeros_like(soft)
        of_soft[:, :, soft.shape[2] - rows.shape[3] :] = of_entry
        return soft * (of_soft - (soft * of_soft).sum(2, keepdim=True)) / TEMPERATURE


def add_to_rows(of_values: Tensor, step: Step, of_rows: Tensor) -> None:
    """Add (S, 2, K, r) to the first K slots of rows u and v of (S, N, C, r)."""
    seeds, nodes, width, _ = of_values.shape
    whole = torch.nn.functional.pad(of_rows, (0, 0, 0, width - step.width))
    of_values.view(seeds * nodes, -1).index_add_(0, step.rows, whole.view(2 * seeds, -1))


class Unrolled(torch.autograd.Function):
    """The event loop as one differentiable operation."""

    @staticmethod
    def forward(ctx: FunctionCtx, loop: EventLoop, names: list[str], *tensors: Tensor) -> Any:  # noqa: ANN401
        """Run the loop; without a learned graph the logits are empty."""
        ctx.loop = loop  # ty: ignore[missing-attribute]
        versions, logits = loop.forward([tensor.detach() for tensor in tensors], names)
        return versions, versions.new_zeros(0) if logits is None else logits

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Any:  # noqa: ANN401
        """Undo the loop."""
        loop: EventLoop = ctx.loop  # ty: ignore[missing-attribute]
        with torch.no_grad():
            return None, None, *loop.backward(gradients[0], gradients[1] if loop.learned else None)
