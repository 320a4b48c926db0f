"""Layers of the encoder with hand-written gradients, which need stored activations.

Call `forward` in stream order, then `backward` in reverse: `tape` is a stack of each event's activations.
Names: `d_x` is the gradient of the loss with respect to `x`; `w_t` is w transposed. Rows are (S, R, ·) with S
seeds; weights (S, a, b), biases (S, 1, b).
"""

from functools import cached_property

import torch
from torch import Tensor

from model.functions import elu_, elu_gradient

Shapes = dict[str, tuple[int, ...]]  # of parameters of one seed, by name: inputs before outputs


class Linear:
    """x w + b for a few rows per event; rows are stored, and the gradient of w is one product at the end.

    w_t is a copy, or a view if `view` is set. The two round differently in the last bit, so the choice
    affects results.
    """

    def __init__(self, w: Tensor, b: Tensor | None = None, view: bool = False) -> None:
        self.w, self.b, self.view = w, b, view
        self.inputs: list[Tensor] = []
        self.d_outputs: list[Tensor] = []

    @cached_property
    def w_t(self) -> Tensor:
        """The transposed w, for the backward pass."""
        w_t = self.w.transpose(1, 2)
        return w_t if self.view else w_t.contiguous()

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of rows `x`."""
        return torch.bmm(x, self.w) if self.b is None else torch.baddbmm(self.b, x, self.w)

    def backward(self, x: Tensor, d_output: Tensor, onto: Tensor | None = None) -> Tensor:
        """Return d_x of the rows given to `forward`, plus `onto` if given; store rows for `d_w` and `d_b`."""
        self.keep(x, d_output)
        return torch.bmm(d_output, self.w_t) if onto is None else torch.baddbmm(onto, d_output, self.w_t)

    def keep(self, x: Tensor, d_output: Tensor) -> None:
        """Store rows for `d_w` and `d_b`; call directly if d_x is not needed."""
        self.inputs.append(x)
        self.d_outputs.append(d_output)

    def d_w(self) -> Tensor:
        """Return the gradient of w."""
        return torch.cat(self.inputs, 1).transpose(1, 2) @ torch.cat(self.d_outputs, 1)

    def d_b(self) -> Tensor:
        """Return the gradient of b."""
        return torch.cat(self.d_outputs, 1).sum(1, keepdim=True)


class Total:
    """An accumulated gradient of a weight or bias that is applied to all N rows in every event."""

    def __init__(self) -> None:
        self.value: Tensor | None = None

    def add_product(self, x: Tensor, d_output: Tensor) -> None:
        """Add d_w of rows x (S, R, a) and d_output (S, R, b)."""
        if self.value is None:
            self.value = torch.bmm(x.transpose(1, 2), d_output)
        else:
            self.value.baddbmm_(x.transpose(1, 2), d_output)

    def add_sum(self, d_output: Tensor) -> None:
        """Add d_b of rows d_output (S, R, b)."""
        d_b = d_output.sum(1, keepdim=True)
        self.value = d_b if self.value is None else d_b + self.value

    def __call__(self) -> Tensor:
        """Return the accumulated gradient."""
        assert self.value is not None
        return self.value


class Network:
    """Two ELU layers: f_node¹ and f_node²."""

    def __init__(self, weights: dict[str, Tensor], name: str, undone: int, view: bool = False) -> None:
        self.name, self.undone = name, undone
        self.first = Linear(weights[f"{name}.w1"], weights[f"{name}.b1"], view)
        self.second = Linear(weights[f"{name}.w2"], weights[f"{name}.b2"], view)
        self.tape: list[tuple[Tensor, Tensor, Tensor]] = []

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of rows `x` (S, R, d)."""
        hidden = elu_(self.first.forward(x))
        output = elu_(self.second.forward(hidden))
        if self.undone:
            self.tape.append((x, hidden, output))
        return output

    def backward(self, d_output: Tensor, onto: Tensor | None = None) -> Tensor:
        """Return d_x of the latest rows on the tape, plus `onto` if given."""
        x, hidden, output = self.tape.pop()
        d_second = elu_gradient(d_output, output)
        d_first = elu_gradient(self.second.backward(hidden, d_second), hidden)
        return self.first.backward(x, d_first, onto)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients by weight name."""
        return {
            f"{self.name}.w1": self.first.d_w(),
            f"{self.name}.b1": self.first.d_b(),
            f"{self.name}.w2": self.second.d_w(),
            f"{self.name}.b2": self.second.d_b(),
        }


def network_shapes(name: str, inputs: int, d: int) -> Shapes:
    """Return the parameter shapes of the `Network` called `name`."""
    return {f"{name}.w1": (inputs, d), f"{name}.b1": (d,), f"{name}.w2": (d, d), f"{name}.b2": (d,)}
