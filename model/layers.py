"""Layers of the encoder whose gradients are written out: each remembers what its gradient needs.

`forward` in stream order, then `backward` in reverse: what an event left is on top of the layer's `tape`.
Names: `d_x` is the gradient of the loss with respect to `x`; `w_t` is w transposed. Rows are (S, R, ·) with S
seeds; weights (S, a, b), biases (S, 1, b).
"""

from functools import cached_property

import torch
from torch import Tensor

from model.functions import elu_, elu_gradient

Shapes = dict[str, tuple[int, ...]]  # of parameters of one seed, by name: inputs before outputs


class Linear:
    """x w + b of a few rows per event: the rows are kept, and the gradient of w is one product at the end.

    w_t is a copy, or a view where `view` says so. The two round differently in the last bit: which one a
    layer takes is part of its results.
    """

    def __init__(self, w: Tensor, b: Tensor | None = None, view: bool = False) -> None:
        self.w, self.b, self.view = w, b, view
        self.inputs: list[Tensor] = []
        self.d_outputs: list[Tensor] = []

    @cached_property
    def w_t(self) -> Tensor:
        """w transposed, for walking backwards."""
        w_t = self.w.transpose(1, 2)
        return w_t if self.view else w_t.contiguous()

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of rows `x`."""
        return torch.bmm(x, self.w) if self.b is None else torch.baddbmm(self.b, x, self.w)

    def backward(self, x: Tensor, d_output: Tensor, onto: Tensor | None = None) -> Tensor:
        """d_x of the rows that were given to `forward`, added onto `onto` if it is given."""
        self.keep(x, d_output)
        return torch.bmm(d_output, self.w_t) if onto is None else torch.baddbmm(onto, d_output, self.w_t)

    def keep(self, x: Tensor, d_output: Tensor) -> None:
        """Keep rows for `d_w` and `d_b`; by itself where nobody wants their d_x."""
        self.inputs.append(x)
        self.d_outputs.append(d_output)

    def d_w(self) -> Tensor:
        """Gradient of w."""
        return torch.cat(self.inputs, 1).transpose(1, 2) @ torch.cat(self.d_outputs, 1)

    def d_b(self) -> Tensor:
        """Gradient of b."""
        return torch.cat(self.d_outputs, 1).sum(1, keepdim=True)


class Total:
    """The gradient of a weight or bias that meets all N rows in every event: added up at once."""

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
        """What was added so far."""
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
        """Outputs of rows `x` (S, R, d)."""
        hidden = elu_(self.first.forward(x))
        output = elu_(self.second.forward(hidden))
        if self.undone:
            self.tape.append((x, hidden, output))
        return output

    def backward(self, d_output: Tensor, onto: Tensor | None = None) -> Tensor:
        """d_x of the last rows not yet undone, added onto `onto` if it is given."""
        x, hidden, output = self.tape.pop()
        d_second = elu_gradient(d_output, output)
        d_first = elu_gradient(self.second.backward(hidden, d_second), hidden)
        return self.first.backward(x, d_first, onto)

    def gradients(self) -> dict[str, Tensor]:
        """Gradients by the names of the weights."""
        return {
            f"{self.name}.w1": self.first.d_w(),
            f"{self.name}.b1": self.first.d_b(),
            f"{self.name}.w2": self.second.d_w(),
            f"{self.name}.b2": self.second.d_b(),
        }


def network_shapes(name: str, inputs: int, d: int) -> Shapes:
    """The parameters of a `Network`, named after it."""
    return {f"{name}.w1": (inputs, d), f"{name}.b1": (d,), f"{name}.w2": (d, d), f"{name}.b2": (d,)}
