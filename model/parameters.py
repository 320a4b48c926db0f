"""The trainable parameters of a variant: their shapes, their start, all seeds' values in a flat matrix."""

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
BIAS_START = 0.1  # as NRI starts the biases of its networks
RATE_START = 0.5


def intensity_shapes(variant: Variant, d: int) -> Shapes:
    """Shapes of ψ and of the compatibility ω (concat) or Ω (bilinear)."""
    compatibility = (KINDS, d, d) if variant.interaction == BILINEAR else (KINDS, 2 * d)
    return {"intensity.rate": (KINDS,), "intensity.compatibility": compatibility}


def shapes_of(variant: Variant, d: int) -> Shapes:
    """Name and shape of every parameter of one seed, inputs before outputs."""
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
    """How many numbers one seed trains."""
    return sum(math.prod(shape) for shape in shapes_of(variant, d).values())


def width_of(variant: Variant, d: int) -> int:
    """The embedding's width: `d`, or what gives a wide concat model as many parameters as bilinear."""
    if not variant.wide:
        return d
    bilinear = Variant(variant.name, BILINEAR, relation=variant.relation)
    goal = count_parameters(bilinear, d)
    return min(range(d, 4 * d), key=lambda width: abs(count_parameters(variant, width) - goal))


@dataclass(frozen=True)
class Parameters:
    """Every seed's parameters: `flat` is (seeds, numbers), its named parts are views with seeds first."""

    shapes: Shapes
    flat: Tensor

    @cached_property
    def named(self) -> dict[str, Tensor]:
        """Each parameter as a view of `flat`: (S, *shape)."""
        return self.views(self.flat)

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of any matrix laid out as `flat` (gradients, moments), by name."""
        parts = flat.split([math.prod(shape) for shape in self.shapes.values()], dim=1)
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(len(flat), *shape) for (name, shape), part in pairs}

    def mask(self, prefix: str) -> Tensor:
        """1 where a column of `flat` belongs to a parameter whose name starts with `prefix`: (numbers)."""
        ones = [
            torch.full((math.prod(shape),), float(name.startswith(prefix)), dtype=self.flat.dtype)
            for name, shape in self.shapes.items()
        ]
        return torch.cat(ones)


def initial_parameters(
    variant: Variant, d: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float32
) -> Parameters:
    """Xavier-normal weights, drawn by each seed's own generator; ψ and biases at their constants."""
    shapes = shapes_of(variant, d)
    rows = [
        torch.cat([initial(name, shape, generator).flatten() for name, shape in shapes.items()])
        for generator in generators
    ]
    return Parameters(shapes, torch.stack(rows).to(dtype))


def initial(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """The start of one parameter of one seed."""
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
