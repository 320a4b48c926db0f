"""One seed's batch through the compiled loop, as one differentiable operation.

Products over many rows are batched: W_h z and h¹ of rows before the batch, and the gradients of the weights
from the activations that the loop stored. Names as in `model.large.arrays`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, from_numpy
from torch.autograd.function import FunctionCtx
from torch.nn.functional import elu_

from model.encoder import folded_weights
from model.functions import elu_gradient
from model.intensity import symmetric_compatibility
from model.large.arrays import (
    GRADIENTS,
    NETWORKS,
    TAPE,
    TYPES,
    Activations,
    Form,
    Gradients,
    Network,
    Tape,
    Weights,
)
from model.large.backward import collect_before
from model.large.felt import felt_rows
from model.large.layers import backward_layer, forward_layer, layers_of, run_layers
from model.large.layout import MOVES, Layout, Room
from model.large.pages import NOBODY, Pool
from pipeline.variant_names import BILINEAR
from pipeline.variants import MOVES as MOVES_OF
from pipeline.variants import Variant

AT_ONCE = 4_096  # rows before the batch per product


def form_of(variant: Variant) -> Form:
    """Return the compiled loop's flags for a variant."""
    return Form(
        moves=MOVES.index(MOVES_OF[variant.attention]),
        passes=variant.passes if variant.is_sampled else 0,
        bilinear=variant.interaction == BILINEAR,
        bilinear_pairs=variant.of_encoder == BILINEAR,
    )


class Loop:
    """One batch of one seed, forward and backward."""

    def __init__(
        self,
        variant: Variant,
        named: dict[str, Tensor],
        pool: Pool,
        layout: Layout,
        kinds: np.ndarray,
        waiting: np.ndarray,
        noise: np.ndarray | None,
        room: Room,
        threads: int,
    ) -> None:
        """Store the inputs; `named` are one seed's parameters, (1, *shape); `pool` is updated in place."""
        self.variant, self.form = variant, form_of(variant)
        self.pool, self.plan, self.layout, self.kinds = pool, layout.plan, layout, kinds
        self.waiting, self.noise, self.room, self.threads = waiting, noise, room, threads
        self.has_next = np.ones(2 * len(kinds), np.bool_)  # node has a later event in the batch
        self.has_next[layout.last] = False
        update = torch.cat([named[f"update.{part}"] for part in ("attention", "self", "waiting")], 1)
        self.tensors = {"update": update, "neighbour": named["update.neighbour"]}
        if self.form.passes:
            self.tensors |= folded_weights(variant, named)
        symmetric = symmetric_compatibility(named["intensity.compatibility"].detach())[0]
        self.symmetric = symmetric if symmetric.dim() == 3 else symmetric.unsqueeze(1)
        self.rate = named["intensity.rate"].detach()[0]

    def run(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return row versions of Z (1, Q, d) and logits (B, 1, 2, r'), from the embeddings before (N, d)."""
        versions, logits = Unrolled.apply(self, z, *self.tensors.values())
        return versions, logits

    # ---- forward

    def forward(self, z: Tensor, tensors: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Run the forward pass of all events."""
        self.given = dict(zip(self.tensors, (tensor[0] for tensor in tensors), strict=True))
        self.weights = self.arrays_of_weights()
        self.tape = tape = self.new_tape(z.shape[1])
        self.read_before(z)
        self.in_order(
            lambda events: forward_layer(
                events, self.kinds, self.pool, self.plan, self.weights, self.form, tape
            ),
            back=False,
        )
        new_rows = 2 * len(self.kinds)
        self.felt = felt_rows(self.plan, tape.strongest, len(tape.projected), self.room)
        self.z_felt = z[from_numpy(self.layout.touched[self.felt.rows - new_rows])].numpy()
        asked = self.layout.asked
        return from_numpy(tape.z)[None, :asked], from_numpy(tape.logits)[:, None]

    def read_before(self, z: Tensor) -> None:
        """Compute the rows before the batch, in blocks that fit the CPU cache."""
        tape, given, new_rows = self.tape, self.given, 2 * len(self.kinds)
        touched = from_numpy(self.layout.touched)
        spare = from_numpy(self.room("rows before", (AT_ONCE, z.shape[1]), np.float32))
        for start in range(new_rows, len(tape.projected), AT_ONCE):
            rows = slice(start, min(start + AT_ONCE, len(tape.projected)))
            before = spare[: rows.stop - start]
            torch.index_select(z, 0, touched[start - new_rows : rows.stop - new_rows], out=before)
            torch.mm(before, given["neighbour"], out=from_numpy(tape.projected[rows]))
            whole = max(min(rows.stop, self.layout.whole) - start, 0)
            tape.z[rows] = before[:whole].numpy()
            if self.form.passes:
                hidden, output = (from_numpy(array[rows]) for array in tape.node1)
                elu_(torch.addmm(given["node1.b1"], before[:whole], given["node1.w1"], out=hidden))
                elu_(torch.addmm(given["node1.b2"], hidden, given["node1.w2"], out=output))

    def in_order(self, work: Callable[[np.ndarray], None], back: bool) -> None:
        """Run `work` on all events, each after its dependencies (with `back`, before them).

        Threads are used only with a two-pass encoder; other work is too small.
        """
        if self.threads > 1 and self.form.passes == 2:
            layers = layers_of(self.plan)
            run_layers(layers[::-1] if back else layers, work, self.threads)
        else:
            events = np.arange(len(self.kinds))
            work(events[::-1].copy() if back else events)

    def arrays_of_weights(self) -> Weights:
        """Return the weights as arrays for the compiled loop; those that the variant lacks are empty."""

        def array(name: str, dimensions: int) -> np.ndarray:
            given = self.given.get(name)
            return np.empty((0,) * dimensions, np.float32) if given is None else given.contiguous().numpy()

        def network(name: str) -> Network:
            first = f"{name}.fold" if f"{name}.fold" in self.given else f"{name}.w1"
            biases = (array(f"{name}.{b}", 2).reshape(-1) for b in ("b1", "b2"))
            b1, b2 = biases
            return Network(array(first, 2), b1, array(f"{name}.w2", 2), b2)

        return Weights(
            update=array("update", 2),
            neighbour=array("neighbour", 2),
            symmetric=self.symmetric.contiguous().numpy(),
            rate=self.rate.contiguous().numpy(),
            node1=network("node1"),
            edge1=network("edge1"),
            node2=network("node2"),
            last=network(self.last),
            skip=array("edge2.skip", 2),
            out_w=array("out.w", 2),
            out_b=array("out.b", 2).reshape(-1),
        )

    @property
    def last(self) -> str:
        """The name of the last edge network."""
        return "edge2" if self.form.passes == 2 else "edge1"

    def memory(self, shapes: dict[str, str], d: int, felt: int = 0) -> dict[str, Any]:
        """Return buffers by name, with shapes given by letters; `felt` is G."""
        types, plan, new_rows = len(self.pool.value), self.plan, 2 * len(self.kinds)
        sizes = {
            "2": 2,
            "4": 4,
            "B": len(self.kinds),
            "W": new_rows,
            "P": self.layout.whole,
            "R": new_rows + len(self.layout.touched),
            "F": new_rows + felt,
            "E": len(plan.near),
            "A": int(plan.width_after.reshape(-1)[self.has_next].sum()),
            "D": int(plan.width_after.reshape(-1)[self.layout.last].sum()),
            "m": plan.senders.shape[2],
            "d": d,
            "r": types,
            "p": len(self.variant.prior_probabilities) if self.form.passes else 0,
            "I": types * d + d + 4,
            "t": (self.form.passes + 1) * d,
        }

        def shape(letters: str) -> tuple[int, ...]:
            sized = [sizes[letter] for letter in letters.removeprefix("*")]
            if letters.startswith("*") and not self.form.passes:
                sized[0] = 0
            return tuple(sized)

        def array(name: str, letters: str) -> np.ndarray:
            return self.room(name, shape(letters), TYPES.get(name, np.float32))

        def arrays(name: str, letters: str) -> np.ndarray | Activations:
            if name.removeprefix("d_") not in NETWORKS:
                return array(name, letters)
            return Activations(array(f"{name}.hidden", letters), array(f"{name}.output", letters))

        return {name: arrays(name, letters) for name, letters in shapes.items()}

    def new_tape(self, d: int) -> Tape:
        """Allocate the tape and fill in its inputs."""
        arrays = self.memory(TAPE, d)
        arrays["waiting"][:] = self.waiting
        arrays["noise"][:] = 0.0 if self.noise is None else self.noise
        if self.form.passes:
            widths = np.where(self.has_next, self.plan.width_after.reshape(-1), 0)
            after_first = np.where(self.has_next, np.cumsum(widths) - widths, NOBODY)
            arrays["after_first"][:] = after_first.reshape(-1, 2)
        return Tape(**arrays)

    # ---- backward

    def backward(self, d_versions: Tensor, d_logits: Tensor) -> list[Tensor]:
        """Return the gradients of the tensors given to `forward`."""
        plan, form, tape, felt = self.plan, self.form, self.tape, self.felt
        grads = Gradients(**self.memory(GRADIENTS, tape.z.shape[1], len(felt.rows)))
        grads.d_z[:] = d_versions[0, : 2 * len(self.kinds)].numpy()
        if form.passes:
            grads.d_logits[:] = d_logits[:, 0].numpy()
            widths = plan.width_after.reshape(-1)[self.layout.last]
            grads.row_first[:] = (np.cumsum(widths) - widths)[self.layout.node].reshape(-1, 2)
        self.in_order(
            lambda events: backward_layer(events, plan, felt, self.weights, form, tape, grads), back=True
        )
        collect_before(plan, felt, form, grads)
        gradients = self.gradients(grads)
        return [gradients[name].view_as(tensor[0])[None] for name, tensor in self.tensors.items()]

    def gradients(self, grads: Gradients) -> dict[str, Tensor]:
        """Return the gradients of the weights by name."""
        tape, new_rows = self.tape, 2 * len(self.kinds)
        of_new = product(tape.z[:new_rows], grads.d_projected[:new_rows])
        out = {
            "update": product(tape.inputs, grads.d_update),
            "neighbour": of_new + product(self.z_felt, grads.d_projected[new_rows:]),
        }
        if self.form.passes:
            self.undo_before(grads)
            out |= of_network("node1", tape.node1, grads.d_node1)
            out["node1.w1"] = product(tape.z, grads.d_node1.hidden)
            out |= self.gradients_of_last(grads)
        if self.form.passes == 2:
            out |= of_network("node2", tape.node2, grads.d_node2)
            out["node2.w1"] = product(tape.mean, grads.d_node2.hidden)
            out |= self.gradients_of_senders(grads)
        return out

    def undo_before(self, grads: Gradients) -> None:
        """Backpropagate h¹ of the rows before the batch; the loop did so for its own rows."""
        rows = slice(2 * len(self.kinds), None)
        hidden, output = (from_numpy(array[rows]) for array in self.tape.node1)
        d_output = elu_gradient(from_numpy(grads.d_h1[rows]), output)
        d_hidden = elu_gradient(d_output @ self.given["node1.w2"].T, hidden)
        grads.d_node1.output[rows], grads.d_node1.hidden[rows] = d_output.numpy(), d_hidden.numpy()

    def gradients_of_last(self, grads: Gradients) -> dict[str, Tensor]:
        """Return the gradients of the last edge network and of the output layer."""
        pair, d_sums, d = self.tape.pair, grads.d_last.hidden, self.tape.z.shape[1]
        out = of_network(self.last, self.tape.last, grads.d_last)
        out |= {"out.w": product(self.tape.last.output, grads.d_out), "out.b": bias_gradient(grads.d_out)}
        if not self.form.bilinear_pairs:
            return out | {f"{self.last}.w1": product(pair, d_sums)}
        out[f"{self.last}.fold"] = product(pair[..., d : 2 * d], as_rows(grads.d_mixed2))
        if self.form.passes == 2:
            out["edge2.skip"] = product(pair[..., 2 * d :], d_sums)
        return out

    def gradients_of_senders(self, grads: Gradients) -> dict[str, Tensor]:
        """Return the gradients of the network of incoming edges."""
        receivers = self.tape.node1.output[self.plan.own]  # (B, 2, d)
        out = of_network("edge1", self.tape.edge1, grads.d_edge1)
        if self.form.bilinear_pairs:
            return out | {"edge1.fold": product(receivers, as_rows(grads.d_mixed))}
        of_senders = product(self.tape.sent, grads.d_edge1.hidden)
        return out | {"edge1.w1": torch.cat([of_senders, product(receivers, grads.d_offset)])}


def product(rows: np.ndarray, d_rows: np.ndarray) -> Tensor:
    """Return the gradient (a, b) of a weight, from its input rows (…, a) and output gradients (…, b)."""
    return from_numpy(rows).flatten(0, -2).T @ from_numpy(d_rows).flatten(0, -2)


def bias_gradient(d_rows: np.ndarray) -> Tensor:
    """Return the gradient (b) of a bias, from those of the rows (…, b)."""
    return from_numpy(d_rows).flatten(0, -2).sum(0)


def as_rows(matrices: np.ndarray) -> np.ndarray:
    """Reshape matrices (B, 2, d, d) to rows (B, 2, d·d)."""
    return matrices.reshape(*matrices.shape[:2], -1)


def of_network(name: str, rows: Activations, d_rows: Activations) -> dict[str, Tensor]:
    """Return a network's gradients except that of w1, whose inputs differ between networks."""
    return {
        f"{name}.b1": bias_gradient(d_rows.hidden),
        f"{name}.w2": product(rows.hidden, d_rows.output),
        f"{name}.b2": bias_gradient(d_rows.output),
    }


class Unrolled(torch.autograd.Function):
    """The loop as one differentiable operation in the weights."""

    @staticmethod
    def forward(ctx: FunctionCtx, loop: Loop, z: Tensor, *tensors: Tensor) -> Any:  # noqa: ANN401
        """Run the loop."""
        ctx.loop = loop  # ty: ignore[missing-attribute]
        return loop.forward(z, [tensor.detach() for tensor in tensors])

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Any:  # noqa: ANN401
        """Run the loop's backward pass."""
        loop: Loop = ctx.loop  # ty: ignore[missing-attribute]
        with torch.no_grad():
            return None, None, *loop.backward(*gradients)
