"""A batch of one seed through the compiled loop, as one differentiable operation.

What can be one product for many rows is one: W_h z and h¹ of rows before the batch, and the gradients of the
weights from the rows that the loop kept. Names as in `model.large.arrays`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import elu_

from model.encoder import folded_weights
from model.functions import elu_gradient
from model.intensity import symmetric_compatibility
from model.large.arrays import GRADIENTS, TAPE, TYPES, Form, Gradients, Network, Tape, Weights
from model.large.backward import collect_before
from model.large.felt import felt_rows
from model.large.layers import backward_events, forward_events, layers_of, run_layers
from model.large.layout import MOVES, Layout, Room
from model.large.pages import NOBODY, Pool
from pipeline.variants import MOVES as MOVES_OF
from pipeline.variants import Variant

AT_ONCE = 4_096  # rows before the batch whose products are made at once


def form_of(variant: Variant) -> Form:
    """Which model a variant is."""
    return Form(
        moves=MOVES.index(MOVES_OF[variant.attention]),
        passes=variant.passes if variant.is_sampled else 0,
        bilinear=variant.interaction == "bilinear",
        bilinear_pairs=variant.of_encoder == "bilinear",
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
        """`named` holds the parameters of this seed alone, (1, *shape) each; `pool` moves."""
        self.variant, self.form = variant, form_of(variant)
        self.pool, self.plan, self.layout, self.kinds = pool, layout.plan, layout, kinds
        self.waiting, self.noise, self.room, self.threads = waiting, noise, room, threads
        self.has_next = np.ones(2 * len(kinds), np.bool_)  # whether a node has a further event in the batch
        self.has_next[layout.last] = False
        update = torch.cat([named[f"update.{part}"] for part in ("attention", "self", "waiting")], 1)
        self.tensors = {"update": update, "neighbour": named["update.neighbour"]}
        if self.form.passes:
            self.tensors |= folded_weights(variant, named)
        symmetric = symmetric_compatibility(named["intensity.compatibility"].detach())[0]
        self.symmetric = symmetric if symmetric.dim() == 3 else symmetric.unsqueeze(1)
        self.rate = named["intensity.rate"].detach()[0]

    def run(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Versions of rows of Z (1, Q, d) and logits (B, 1, 2, r'), from all embeddings before (N, d)."""
        versions, logits = Unrolled.apply(self, z, *self.tensors.values())
        return versions, logits

    # ---- forward

    def forward(self, z: Tensor, tensors: list[Tensor]) -> tuple[Tensor, Tensor]:
        """All events."""
        self.given = dict(zip(self.tensors, (tensor[0] for tensor in tensors), strict=True))
        self.weights = self.arrays_of_weights()
        self.tape = tape = self.new_tape(z.shape[1])
        self.read_before(z)
        self.in_order(
            lambda events: forward_events(
                events, self.kinds, self.pool, self.plan, self.weights, self.form, tape
            ),
            back=False,
        )
        new_rows = 2 * len(self.kinds)
        self.felt = felt_rows(self.plan, tape.strongest, len(tape.projected), self.room)
        self.z_felt = z[torch.from_numpy(self.layout.touched[self.felt.rows - new_rows])]
        asked = self.layout.asked
        return torch.from_numpy(tape.z)[None, :asked], torch.from_numpy(tape.logits)[:, None]

    def read_before(self, z: Tensor) -> None:
        """Fill in the rows before the batch, as many at a time as stay in the processor's cache."""
        named, given, new_rows = self.tape_of_tensors(), self.given, 2 * len(self.kinds)
        touched = torch.from_numpy(self.layout.touched)
        spare = torch.from_numpy(self.room("rows before", (AT_ONCE, z.shape[1]), np.float32))
        for start in range(new_rows, len(named["projected"]), AT_ONCE):
            rows = slice(start, min(start + AT_ONCE, len(named["projected"])))
            before = spare[: rows.stop - start]
            torch.index_select(z, 0, touched[start - new_rows : rows.stop - new_rows], out=before)
            torch.mm(before, given["neighbour"], out=named["projected"][rows])
            whole = max(min(rows.stop, self.layout.whole) - start, 0)
            named["z"][rows] = before[:whole]
            if self.form.passes:
                hidden, output = named["hidden1"][rows], named["h1"][rows]
                elu_(torch.addmm(given["node1.b1"], before[:whole], given["node1.w1"], out=hidden))
                elu_(torch.addmm(given["node1.b2"], hidden, given["node1.w2"], out=output))

    def tape_of_tensors(self) -> dict[str, Tensor]:
        """The tape's arrays as tensors."""
        return {name: torch.from_numpy(array) for name, array in self.tape._asdict().items()}

    def in_order(self, work: Callable[[np.ndarray], None], back: bool) -> None:
        """All events, each after those that it reads from (`back`: before them).

        Only the encoder's work is worth another thread.
        """
        if self.threads > 1 and self.form.passes == 2:
            layers = layers_of(self.plan)
            run_layers(layers[::-1] if back else layers, work, self.threads)
        else:
            events = np.arange(len(self.kinds))
            work(events[::-1].copy() if back else events)

    def arrays_of_weights(self) -> Weights:
        """The weights as the compiled loop takes them; what the variant does not have is empty."""

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

    def memory(self, shapes: dict[str, str], d: int, felt: int = 0) -> dict[str, np.ndarray]:
        """Arrays by name, each of the shape that its letters spell; `felt` is G."""
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

        return {
            name: self.room(name, shape(letters), TYPES.get(name, np.float32))
            for name, letters in shapes.items()
        }

    def new_tape(self, d: int) -> Tape:
        """Memory for what the loop computes, with what it is given filled in."""
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
        """Gradients of the tensors given to `forward`."""
        plan, form, tape, felt = self.plan, self.form, self.tape, self.felt
        grads = Gradients(**self.memory(GRADIENTS, tape.z.shape[1], len(felt.rows)))
        grads.d_z[:] = d_versions[0, : 2 * len(self.kinds)].numpy()
        if form.passes:
            grads.d_logits[:] = d_logits[:, 0].numpy()
            widths = plan.width_after.reshape(-1)[self.layout.last]
            grads.row_first[:] = (np.cumsum(widths) - widths)[self.layout.node].reshape(-1, 2)
        self.in_order(
            lambda events: backward_events(events, plan, felt, self.weights, form, tape, grads), back=True
        )
        collect_before(plan, felt, form, grads)
        gradients = self.gradients(
            self.tape_of_tensors(),
            {name: torch.from_numpy(array) for name, array in grads._asdict().items()},
        )
        return [gradients[name].view_as(tensor[0])[None] for name, tensor in self.tensors.items()]

    def gradients(self, tape: dict[str, Tensor], grads: dict[str, Tensor]) -> dict[str, Tensor]:
        """Gradients of the weights by name, a product each."""

        def product(rows: Tensor, d_rows: Tensor) -> Tensor:
            return rows.flatten(0, -2).T @ d_rows.flatten(0, -2)

        new_rows, d = 2 * len(self.kinds), tape["z"].shape[1]
        of_new = product(tape["z"][:new_rows], grads["d_projected"][:new_rows])
        out = {
            "update": product(tape["inputs"], grads["d_update"]),
            "neighbour": of_new + product(self.z_felt, grads["d_projected"][new_rows:]),
        }
        if not self.form.passes:
            return out

        def network(name: str, rows: Tensor, hidden: str, d_hidden: str, d_output: str) -> None:
            d_first, d_second = grads[d_hidden], grads[d_output]
            if name != self.last:
                out[f"{name}.w1"] = product(rows, d_first)
            out[f"{name}.b1"] = d_first.flatten(0, -2).sum(0)
            out[f"{name}.w2"] = product(tape[hidden], d_second)
            out[f"{name}.b2"] = d_second.flatten(0, -2).sum(0)

        # h¹ of the rows before the batch: those of the loop have been undone there.
        d_output = elu_gradient(grads["d_h1"][new_rows:], tape["h1"][new_rows:])
        d_hidden = elu_gradient(d_output @ self.given["node1.w2"].T, tape["hidden1"][new_rows:])
        grads["d_output1"][new_rows:], grads["d_hidden1"][new_rows:] = d_output, d_hidden
        network("node1", tape["z"], "hidden1", "d_hidden1", "d_output1")
        network(self.last, tape["pair"], "hidden3", "d_hidden3", "d_last")
        out["out.w"] = product(tape["last"], grads["d_out"])
        out["out.b"] = grads["d_out"].flatten(0, -2).sum(0)
        bilinear = self.form.bilinear_pairs
        if bilinear:
            out[f"{self.last}.fold"] = product(tape["pair"][..., d : 2 * d], grads["d_mixed2"].flatten(2))
        else:
            out[f"{self.last}.w1"] = product(tape["pair"], grads["d_hidden3"])
        if self.form.passes == 2:
            if bilinear:
                out["edge2.skip"] = product(tape["pair"][..., 2 * d :], grads["d_hidden3"])
            network("node2", tape["mean"], "hidden2", "d_hidden2", "d_output2")
            network("edge1", tape["sent"], "hidden", "d_sums", "d_edges")
            receivers = tape["h1"][torch.from_numpy(self.plan.own)]  # (B, 2, d)
            if bilinear:
                del out["edge1.w1"]
                out["edge1.fold"] = product(receivers, grads["d_mixed"].flatten(2))
            else:
                of_receivers = product(receivers, grads["d_offset"])
                out["edge1.w1"] = torch.cat([out["edge1.w1"], of_receivers])
        return out


class Unrolled(torch.autograd.Function):
    """The loop as one differentiable operation in the weights."""

    @staticmethod
    def forward(ctx: FunctionCtx, loop: Loop, z: Tensor, *tensors: Tensor) -> Any:  # noqa: ANN401
        """Run the loop."""
        ctx.loop = loop  # ty: ignore[missing-attribute]
        return loop.forward(z, [tensor.detach() for tensor in tensors])

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Any:  # noqa: ANN401
        """Undo the loop."""
        loop: Loop = ctx.loop  # ty: ignore[missing-attribute]
        with torch.no_grad():
            return None, None, *loop.backward(*gradients)
