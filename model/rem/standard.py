"""Storage of the statistics' standard beside the weights in a file."""

import torch
from torch import Tensor

from model.history.standard import Standard


def standard_tensors(standard: Standard) -> dict[str, Tensor]:
    """Return a standard as tensors for a file."""
    return {name: torch.tensor(array) for name, array in standard.arrays().items()}


def standard_of(tensors: dict[str, Tensor]) -> Standard | None:
    """Return the standard among the tensors of a file, or None if it has none."""
    arrays = {name: tensor.numpy() for name, tensor in tensors.items() if name.startswith("standard.")}
    return Standard.from_arrays(arrays) if arrays else None
