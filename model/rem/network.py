"""The intensity λ_ab = μ_ab + Σ_k αᵏ_ab as networks over statistics, seeds as the first dimension.

μ reads everything except the pair's own past. αᵏ reads everything; it is zero for a pair without a past and
computed only for pairs with one. Each is the exponential of a network with two hidden layers and a linear
skip; the first layer and the skip are one product.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from model.history.registry import Statistic
from model.history.statistics import BLOCKS, PAST
from model.rem.settings import RemSettings
from pipeline.rem_variants import RemVariant

ABSENT = -1e9  # log α of a pair without a past
Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Part:
    """One network: it reads the first `inputs` statistics, only of pairs with a past if `for_met`."""

    name: str
    inputs: int
    units: tuple[int, int]  # of its two hidden layers; zero: a linear function
    outputs: int
    for_met: bool = False


@dataclass(frozen=True)
class Layout:
    """The statistics that a variant's networks read: positions among all of them, and the block of each.

    Those of the pair's own past come last.
    """

    columns: np.ndarray  # (F)
    blocks: np.ndarray  # (F) positions in `BLOCKS`
    parts: tuple[Part, ...]
    statistics: int  # number of all statistics

    @property
    def outputs(self) -> int:
        """Number of log intensities that the networks return."""
        return sum(part.outputs for part in self.parts)

    def inputs_of(self, x: np.ndarray) -> np.ndarray:
        """Return the statistics (…, F) that are read; no copy if these are all of them."""
        return x if np.array_equal(self.columns, np.arange(self.statistics)) else x[..., self.columns]


def layout_of(variant: RemVariant, settings: RemSettings, statistics: Sequence[Statistic]) -> Layout:
    """Return the layout for these statistics; raise ValueError if `without` has an unknown name."""
    without = set(variant.without)
    names = {name for one in statistics for name in (one.group, one.name)}
    if strange := sorted(without - names):
        raise ValueError(f"without takes names of groups or of statistics, not {', '.join(strange)}")
    read = [at for at, one in enumerate(statistics) if not {one.group, one.name} & without]
    read.sort(key=lambda at: BLOCKS.index(statistics[at].block))  # own columns join the others of their block
    blocks = np.array([BLOCKS.index(statistics[at].block) for at in read])
    everything = len(read)
    if variant.form == "branching":
        parts = (
            Part("base", int((blocks < PAST).sum()), settings.base_hidden, 1),
            Part("edges", everything, settings.hidden, variant.edge_types, for_met=True),
        )
    else:
        units = settings.hidden if variant.form == "flat" else (0, 0)
        parts = (Part("whole", everything, units, 1),)
    return Layout(np.array(read), blocks, parts, len(statistics))


def initial_weights(layout: Layout, seeds: tuple[int, ...]) -> Weights:
    """Return random weights, each seed's from its own generator: (S, …)."""
    each = [initial_of_seed(layout, seed) for seed in seeds]
    return {name: torch.stack([weights[name] for weights in each]) for name in each[0]}


def initial_of_seed(layout: Layout, seed: int) -> Weights:
    """Return weights uniform in ±1/√(inputs), skips a tenth of that, biases zero."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return (2 * torch.rand(shape, generator=generator) - 1) / shape[0] ** 0.5

    weights = {}
    for part in layout.parts:
        first, second = part.units
        skip = uniform(part.inputs, part.outputs) / 10
        weights[f"{part.name}.first"] = torch.cat([uniform(part.inputs, first), skip], 1) if first else skip
        weights[f"{part.name}.first_bias"] = torch.zeros(1, first + part.outputs)
        if first:
            weights[f"{part.name}.second"] = uniform(first, second)
            weights[f"{part.name}.second_bias"] = torch.zeros(1, second)
            weights[f"{part.name}.third"] = uniform(second, part.outputs)
    return weights


def seeds_of(weights: Weights) -> list[Weights]:
    """Return the weights of each seed.

    Products are computed per seed, not batched: with thousands of rows this is as fast, a seed's hidden units
    stay in the processor's cache, and its bits do not depend on the number of seeds.
    """
    names = list(weights)
    return [
        dict(zip(names, of, strict=True))
        for of in zip(*(weights[name].unbind() for name in names), strict=True)
    ]


def log_intensities(
    weights: Weights, layout: Layout, x: Tensor, met: Tensor, masks: list[list[Tensor]] | None = None
) -> Tensor:
    """Return log μ and log αᵏ (or log λ alone) of every row: (S, M, outputs).

    `x` (M, F) are standardized statistics, `met` (M) whether the pair has a past; `masks` are each seed's
    dropout masks, one per hidden layer.
    """
    rows = met.nonzero().squeeze(1)
    of_met = x[rows] if any(part.for_met for part in layout.parts) else x
    outputs = []
    for number, of_seed in enumerate(seeds_of(weights)):
        drop = None if masks is None else iter(masks[number])
        values = []
        for part in layout.parts:
            read = (of_met if part.for_met else x)[:, : part.inputs]
            bias, matrix = of_seed[f"{part.name}.first_bias"], of_seed[f"{part.name}.first"]
            value = from_first(of_seed, part, torch.addmm(bias, read, matrix), drop)
            if part.for_met:
                value = torch.full((len(x), part.outputs), ABSENT).index_copy(0, rows, value)
            values.append(value)
        outputs.append(torch.cat(values, 1))
    return torch.stack(outputs)


def from_first(weights: Weights, part: Part, first: Tensor, masks: Iterator[Tensor] | None = None) -> Tensor:
    """Return the outputs of a network from its first product: (M, H + outputs) → (M, outputs)."""
    units = part.units[0]
    if not units:
        return first
    hidden = functional.silu(first[:, :units])
    if masks is not None:
        hidden = hidden * next(masks)
    hidden = functional.silu(
        torch.addmm(weights[f"{part.name}.second_bias"], hidden, weights[f"{part.name}.second"])
    )
    if masks is not None:
        hidden = hidden * next(masks)
    return torch.addmm(first[:, units:], hidden, weights[f"{part.name}.third"])


def dropout_masks(
    layout: Layout, rows: int, met: int, rate: float, generators: list[torch.Generator]
) -> list[list[Tensor]] | None:
    """Draw dropout masks (rows, units) for each seed's hidden layers; `met` of the rows have a past."""
    if rate == 0 or not layout.parts[0].units[0]:
        return None
    shapes = [(met if part.for_met else rows, units) for part in layout.parts for units in part.units]
    return [
        [(torch.rand(shape, generator=generator) >= rate) / (1 - rate) for shape in shapes]
        for generator in generators
    ]


def log_intensity(parts: Tensor) -> Tensor:
    """Return log λ from the logarithms of its parts: (S, M)."""
    return parts[:, :, 0] if parts.shape[2] == 1 else parts.logsumexp(2)
