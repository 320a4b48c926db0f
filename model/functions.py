"""Element-wise functions whose every result has the same bits wherever it stands in a tensor.

The library takes one path for whole vectors and another for a tensor's last few elements, and for most
functions the two differ in the last bit: a seed's result would depend on how many seeds share its batch. exp
and log1p have one path. The faster kernels are therefore used only where every seed (first dimension) fills
whole vectors, which says nothing of the seeds beside it, and on one thread, which cuts no vector.
"""

import math

import torch
from torch import Tensor

VECTOR = 32  # elements that the widest kernels take at once: two registers of 16 numbers
FEW = 512  # elements of a seed up to which calls cost more than arithmetic
LOG2_E = math.log2(math.e)
elu_backward = torch.ops.aten.elu_backward


def in_whole_vectors(x: Tensor) -> bool:
    """Whether no seed of `x` has elements in a tail."""
    return of_a_seed(x) % VECTOR == 0 and x.is_contiguous()


def of_a_seed(x: Tensor) -> int:
    """How many elements of `x` belong to a seed."""
    return x.numel() // len(x)


def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + exp(−x)), differentiable."""
    return (torch.exp(-x) + 1).reciprocal()


def sigmoid_(x: Tensor) -> Tensor:
    """`sigmoid` in place, outside automatic differentiation."""
    return x.sigmoid_() if in_whole_vectors(x) else x.neg_().exp_().add_(1.0).reciprocal_()


def sigmoid_gradient(d_output: Tensor, output: Tensor) -> Tensor:
    """Gradient before a sigmoid from the gradient after it and its output."""
    if in_whole_vectors(output):
        return torch.ops.aten.sigmoid_backward(d_output, output)
    return d_output * output * (1 - output)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), differentiable, for exponents that exp can take."""
    return torch.log1p(torch.exp(x))


def elu_(x: Tensor, scratch: Tensor | None = None) -> Tensor:
    """ELU in place. Of many elements, as max(x, exp(min(x, 0)) − 1): a third of the price of the library's,
    which takes expm1 of everything; exp2 costs half of exp.
    """
    if of_a_seed(x) <= FEW and in_whole_vectors(x):
        return torch.nn.functional.elu_(x)
    negative = x.clamp_max(0.0) if scratch is None else torch.clamp_max(x, 0.0, out=scratch)
    grown = negative.mul_(LOG2_E).exp2_() if in_whole_vectors(x) else negative.exp_()
    return torch.maximum(x, grown.sub_(1.0), out=x)


def elu_gradient(d_output: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """Gradient before an ELU from the gradient after it and its output."""
    if out is None:
        return elu_backward(d_output, 1.0, 1.0, 1.0, True, output)
    return elu_backward.grad_input(d_output, 1.0, 1.0, 1.0, True, output, grad_input=out)
