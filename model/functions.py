"""Element-wise functions whose every result has the same bits wherever it stands in a tensor.

The library's sigmoid, softplus and ELU take one path for whole vectors and another for a tensor's last few
elements, which differ in the last bit: a seed's result would depend on how many seeds share its batch. exp
and log1p do not.
"""

import torch
from torch import Tensor


def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + exp(−x)), differentiable."""
    return (torch.exp(-x) + 1).reciprocal()


def sigmoid_(x: Tensor) -> Tensor:
    """`sigmoid` in place, outside automatic differentiation."""
    return x.neg_().exp_().add_(1.0).reciprocal_()


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), differentiable, for exponents that exp can take."""
    return torch.log1p(torch.exp(x))


def elu_(x: Tensor, scratch: Tensor | None = None) -> Tensor:
    """ELU in place, as max(x, exp(min(x, 0)) − 1): half the price of the library's, which takes expm1 of
    everything.
    """
    negative = x.clamp_max(0.0) if scratch is None else torch.clamp_max(x, 0.0, out=scratch)
    return torch.maximum(x, negative.exp_().sub_(1.0), out=x)
