"""Element-wise functions whose results are bit-identical at every position of a tensor.

Torch uses a SIMD kernel for whole vectors and a scalar one for a tensor's last elements. For most functions
the two differ in the last bit, so that a seed's result would depend on the number of seeds in its batch. exp
and log1p do not differ. The faster kernels are therefore used only if every seed (first dimension) fills
whole vectors, and on one thread, which does not split vectors.
"""

import math

import torch
from torch import Tensor

VECTOR = 32  # elements per step of the widest kernels: two registers of 16 numbers
FEW = 512  # elements per seed up to which call overhead exceeds arithmetic
LOG2_E = math.log2(math.e)
elu_backward = torch.ops.aten.elu_backward


def in_whole_vectors(x: Tensor) -> bool:
    """Return whether `x` is contiguous and each seed fills whole vectors."""
    return of_a_seed(x) % VECTOR == 0 and x.is_contiguous()


def of_a_seed(x: Tensor) -> int:
    """Return the number of elements per seed."""
    return x.numel() // len(x)


def sigmoid(x: Tensor) -> Tensor:
    """Compute 1/(1 + exp(−x)), differentiably."""
    return (torch.exp(-x) + 1).reciprocal()


def sigmoid_(x: Tensor) -> Tensor:
    """Compute `sigmoid` in place, without autograd."""
    return x.sigmoid_() if in_whole_vectors(x) else x.neg_().exp_().add_(1.0).reciprocal_()


def sigmoid_gradient(d_output: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of a sigmoid's input from its output and the output's gradient."""
    if in_whole_vectors(output):
        return torch.ops.aten.sigmoid_backward(d_output, output)
    return d_output * output * (1 - output)


def softplus(x: Tensor) -> Tensor:
    """Compute log(1 + exp(x)), differentiably; exp(x) must not overflow."""
    return torch.log1p(torch.exp(x))


def elu_(x: Tensor, scratch: Tensor | None = None) -> Tensor:
    """Compute ELU in place; large inputs as max(x, exp(min(x, 0)) − 1), a third of the cost of torch's ELU,
    which uses expm1; exp2 costs half of exp.
    """
    if of_a_seed(x) <= FEW and in_whole_vectors(x):
        return torch.nn.functional.elu_(x)
    negative = x.clamp_max(0.0) if scratch is None else torch.clamp_max(x, 0.0, out=scratch)
    grown = negative.mul_(LOG2_E).exp2_() if in_whole_vectors(x) else negative.exp_()
    return torch.maximum(x, grown.sub_(1.0), out=x)


def elu_gradient(d_output: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the gradient of an ELU's input from its output and the output's gradient."""
    if out is None:
        return elu_backward(d_output, 1.0, 1.0, 1.0, True, output)
    return elu_backward.grad_input(d_output, 1.0, 1.0, 1.0, True, output, grad_input=out)
