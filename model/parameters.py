"""The trainable parameters of a variant: shapes, initialization, and all seeds' values as a flat matrix."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from model.attention.registry import ATTENTIONS
from model.layers import Shapes
from pipeline.variant_names import BILINEAR
from pipeline.variants import Variant

WAITING = 4  # days, hours, minutes, seconds
KINDS = 2
BIAS_START = 0.1  # as in NRI's networks
RATE_START = 0.5


def intensity_shapes(variant: Variant, d: int) -> Shapes:
    """Return the shapes of ψ and of the compatibility ω (concat) or Ω (bilinear)."""
    compatibility = (KINDS, d, d) if variant.interaction == BILINEAR else (KINDS, 2 * d)
    return {"intensity.rate": (KINDS,), "intensity.compatibility": compatibility}


def shapes_of(variant: Variant, d: int) -> Shapes:
    """Return the name and shape of every parameter of one seed, inputs before outputs."""
    shapes = intensity_shapes(variant, d)
    if not variant.is_recurrent:
        shapes |= {"gnn.w1": (d, d), "gnn.w2": (d, d)}
        if variant.attention == "gat":
            shapes |= {"gnn.a1": (2, d), "gnn.a2": (2, d)}
        return shapes
    return shapes | {
        "update.attention": (variant.edge_types * d, d),  # W^S
        "update.self": (d, d),  # W^R
        "update.waiting": (WAITING, d),  # W^T
        "update.neighbour": (d, d),  # W^h
        **ATTENTIONS[variant.attention].shapes(variant, d),
    }


def count_parameters(variant: Variant, d: int) -> int:
    """Return the number of trainable scalars per seed."""
    return sum(math.prod(shape) for shape in shapes_of(variant, d).values())


def width_of(variant: Variant, d: int) -> int:
    """Return the embedding width: `d`, or for a wide variant the width that best matches bilinear's size."""
    if not variant.wide:
        return d
    bilinear = Variant(variant.name, BILINEAR, relation=variant.relation)
    goal = count_parameters(bilinear, d)
    return min(range(d, 4 * d), key=lambda width: abs(count_parameters(variant, width) - goal))


@dataclass(frozen=True)
class Parameters:
    """All seeds' parameters: `flat` is (S, P); named parameters are views of it, seeds first."""

    shapes: Shapes
    flat: Tensor

    @cached_property
    def named(self) -> dict[str, Tensor]:
        """The parameters by name, as views of `flat`: (S, *shape)."""
        return self.views(self.flat)

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Return named views of a matrix with the layout of `flat` (gradients, moments)."""
        parts = flat.split([math.prod(shape) for shape in self.shapes.values()], dim=1)
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(len(flat), *shape) for (name, shape), part in pairs}

    def mask(self, prefix: str) -> Tensor:
        """Return 1 for columns of `flat` whose parameter name starts with `prefix`, else 0: (P)."""
        ones = [
            torch.full((math.prod(shape),), float(name.startswith(prefix)), dtype=self.flat.dtype)
            for name, shape in self.shapes.items()
        ]
        return torch.cat(ones)


def initial_parameters(
    variant: Variant, d: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float32
) -> Parameters:
    """Draw Xavier-normal weights with each seed's own generator; ψ and biases start at constants."""
    shapes = shapes_of(variant, d)
    rows = [
        torch.cat([initial(name, shape, generator).flatten() for name, shape in shapes.items()])
        for generator in generators
    ]
    return Parameters(shapes, torch.stack(rows).to(dtype))


def initial(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return the initial value of one parameter of one seed."""
    if name == "intensity.rate":
        return torch.full(shape, RATE_START)
    if name.endswith((".b1", ".b2", ".b")):
        return torch.full(shape, BIAS_START)
    if name == "intensity.compatibility":
        inputs, outputs = math.prod(shape[1:]), 1
    elif name.endswith(".pair"):
        inputs, outputs = shape[0] * shape[1], shape[0] * shape[2]
    elif name.startswith("gnn.a"):
        inputs, outputs = shape[1], 1
    else:
        inputs, outputs = shape
    return torch.randn(shape, generator=generator) * math.sqrt(2 / (inputs + outputs))
