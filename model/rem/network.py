"""The intensity λ_ab = μ_ab + Σ_k αᵏ_ab as networks over statistics, seeds as the first dimension.

μ sees what is not the pair's own past, αᵏ sees everything and is zero for a pair without a past. Each is the
exponential of a two-layer network with a linear skip; their first layers and skips are one product.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from model.rem.settings import RemSettings
from pipeline.rem_variants import OWN, RemVariant

ABSENT = -1e9  # log α of a pair without a past


@dataclass(frozen=True)
class Layout:
    """Which columns of the statistics the networks of a variant read.

    `columns` (F) are positions among all statistics; `own` (F) marks those of the pair's own past.
    """

    columns: np.ndarray
    own: np.ndarray
    parts: tuple[tuple[int, int, int], ...]  # hidden, hidden, outputs of each network

    @property
    def hidden(self) -> int:
        """The width of all first layers together."""
        return sum(part[0] for part in self.parts)

    @property
    def outputs(self) -> int:
        """Logarithms of intensities that come out."""
        return sum(part[2] for part in self.parts)


def layout_of(variant: RemVariant, settings: RemSettings, names: dict[str, tuple[str, ...]]) -> Layout:
    """The layout for statistics with these names; a name in `without` that is none of them is refused."""
    known = {*names, *(name for group in names.values() for name in group)}
    if strange := sorted(set(variant.without) - known):
        raise ValueError(f"without takes names of groups or of statistics, not {', '.join(strange)}")
    flat = [(group, name) for group, members in names.items() for name in members]
    columns = [at for at, (group, name) in enumerate(flat) if not {group, name} & set(variant.without)]
    if variant.form == "branching":
        parts = ((*settings.base_hidden, 1), (*settings.hidden, variant.edge_types))
    elif variant.form == "flat":
        parts = ((*settings.hidden, 1),)
    else:
        parts = ((0, 0, 1),)
    own = np.array([flat[at][0] in OWN for at in columns])
    return Layout(np.array(columns), own, parts)


def initial_weights(layout: Layout, seeds: tuple[int, ...]) -> dict[str, Tensor]:
    """Random weights, each seed's from its own generator: (S, …)."""
    each = [initial_of_seed(layout, seed) for seed in seeds]
    return {name: torch.stack([weights[name] for weights in each]) for name in each[0]}


def initial_of_seed(layout: Layout, seed: int) -> dict[str, Tensor]:
    """Uniform in ±1/√(inputs), skips a tenth of that, biases zero."""
    generator = torch.Generator().manual_seed(seed)
    inputs = len(layout.columns)

    def uniform(*shape: int) -> Tensor:
        return (2 * torch.rand(shape, generator=generator) - 1) / shape[0] ** 0.5

    weights = {
        "first": torch.cat([uniform(inputs, layout.hidden), uniform(inputs, layout.outputs) / 10], 1),
        "first_bias": torch.zeros(1, layout.hidden + layout.outputs),
    }
    for number, (first, second, outputs) in enumerate(layout.parts):
        if first:
            weights[f"second.{number}"] = uniform(first, second)
            weights[f"second_bias.{number}"] = torch.zeros(1, second)
            weights[f"third.{number}"] = uniform(second, outputs)
    if len(layout.parts) > 1:  # μ, the first network, does not see the pair's own past
        weights["first"][np.ix_(layout.own, base_columns(layout))] = 0.0
    return weights


def base_columns(layout: Layout) -> np.ndarray:
    """Columns of the first product that belong to μ: its hidden units and its skip."""
    return np.append(np.arange(layout.parts[0][0]), layout.hidden)


def first_mask(layout: Layout) -> Tensor | None:
    """Zero where a first-layer weight must stay zero, (F, H); None if none must."""
    if len(layout.parts) == 1:
        return None
    mask = torch.ones(len(layout.columns), layout.hidden + layout.outputs)
    mask[np.ix_(layout.own, base_columns(layout))] = 0.0
    return mask


def log_intensities(
    weights: dict[str, Tensor], layout: Layout, x: Tensor, seen: Tensor, masks: list[Tensor] | None = None
) -> Tensor:
    """log μ and log αᵏ (or log λ alone) of every row: (S, M, outputs).

    `x` (M, F) are standardized statistics, `seen` (M) whether the pair has a past; `masks` are those of
    dropout, of each hidden layer in turn.
    """
    return torch.stack(
        [
            of_seed(
                {name: tensor[seed] for name, tensor in weights.items()},
                layout,
                x,
                seen,
                None if masks is None else [mask[seed] for mask in masks],
            )
            for seed in range(len(weights["first"]))
        ]
    )


def of_seed(
    weights: dict[str, Tensor], layout: Layout, x: Tensor, seen: Tensor, masks: list[Tensor] | None
) -> Tensor:
    """The same of one seed, (M, outputs).

    A product per seed, not a batched one: with thousands of rows it is as fast, a seed's hidden units stay in
    the processor's cache, and its bits do not depend on how many seeds there are.
    """
    return from_first(weights, layout, torch.addmm(weights["first_bias"], x, weights["first"]), seen, masks)


def from_first(
    weights: dict[str, Tensor], layout: Layout, first: Tensor, seen: Tensor, masks: list[Tensor] | None = None
) -> Tensor:
    """The same from the first product, (M, H + outputs)."""
    outputs, at, skip = [], 0, layout.hidden
    for number, (units, _, out) in enumerate(layout.parts):
        value = first[:, skip : skip + out]
        if units:
            hidden = functional.silu(first[:, at : at + units])
            if masks is not None:
                hidden = hidden * masks[2 * number]
            hidden = functional.silu(
                torch.addmm(weights[f"second_bias.{number}"], hidden, weights[f"second.{number}"])
            )
            if masks is not None:
                hidden = hidden * masks[2 * number + 1]
            value = value + hidden @ weights[f"third.{number}"]
        if number:
            value = value.masked_fill(~seen[:, None], ABSENT)
        outputs.append(value)
        at, skip = at + units, skip + out
    return torch.cat(outputs, 1)


def dropout_masks(
    layout: Layout, rows: int, rate: float, generators: list[torch.Generator]
) -> list[Tensor] | None:
    """Masks of each hidden layer, (S, rows, units), each seed's from its own generator."""
    if rate == 0 or not layout.hidden:
        return None
    widths = [units for part in layout.parts for units in part[:2]]
    drawn = torch.stack([torch.rand(rows, sum(widths), generator=generator) for generator in generators])
    return list(((drawn >= rate) / (1 - rate)).split(widths, 2))


def log_intensity(parts: Tensor) -> Tensor:
    """log λ from the logarithms of its parts: (S, M)."""
    return parts[:, :, 0] if parts.shape[2] == 1 else parts.logsumexp(2)
