"""Conditional intensity λ of events between pairs of nodes (eqs. 5 and 12), for both kinds at once."""

import torch
from torch import Tensor

from model.functions import softplus

LARGEST_EXPONENT = 75.0


def symmetric_compatibility(compatibility: Tensor) -> Tensor:
    """Return weights with which one evaluation gives ½(g(z_u, z_v) + g(z_v, z_u)).

    Bilinear Ω (S, 2, d, d) becomes its symmetric part; concat ω (S, 2, 2d) becomes the mean of its halves
    (S, 2, d).
    """
    if compatibility.dim() == 4:
        return (compatibility + compatibility.transpose(2, 3)) / 2
    left, right = compatibility.chunk(2, dim=2)
    return (left + right) / 2


def compatibility_of_pairs(z_u: Tensor, z_v: Tensor, symmetric: Tensor) -> Tensor:
    """Compute g of pairs of embeddings (S, B, d) for both kinds: (S, B, 2)."""
    if symmetric.dim() == 3:
        return (z_u + z_v) @ symmetric.transpose(1, 2)
    seeds, pairs, d = z_u.shape
    wide = symmetric.transpose(1, 2).reshape(seeds, d, 2 * d)  # (S, d, 2·d): z_u Ω_k side by side
    return ((z_u @ wide).view(seeds, pairs, 2, d) * z_v.unsqueeze(2)).sum(3)


def compatibility_with_all(z_u: Tensor, z: Tensor, kinds: Tensor, symmetric: Tensor) -> Tensor:
    """Compute g of B embeddings (S, B, d), for their kinds (B), with all rows (S, R, d): (S, B, R)."""
    chosen = symmetric[:, kinds]  # (S, B, d) or (S, B, d, d)
    if symmetric.dim() == 3:
        own = (z_u * chosen).sum(2, keepdim=True)  # (S, B, 1)
        both = z @ symmetric.transpose(1, 2)  # (S, R, 2)
        return own + both[:, :, kinds].transpose(1, 2)
    seeds, events, d = z_u.shape
    wide = symmetric.transpose(1, 2).reshape(seeds, d, 2 * d)
    projected = (z_u @ wide).view(seeds, events, 2, d)[:, torch.arange(events), kinds]  # (S, B, d)
    return projected @ z.transpose(1, 2)


def intensity(compatibility: Tensor, rate: Tensor) -> Tensor:
    """Compute λ = ψ·softplus(g/ψ); g/ψ is clamped so that gradients do not overflow."""
    return rate * softplus((compatibility / rate).clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT))
