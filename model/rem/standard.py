"""A standard of the statistics beside the weights of a file."""

import torch
from torch import Tensor

from model.history.standard import Standard


def standard_tensors(standard: Standard) -> dict[str, Tensor]:
    """A standard as a file keeps it."""
    return {name: torch.tensor(array) for name, array in standard.arrays().items()}


def standard_of(tensors: dict[str, Tensor]) -> Standard | None:
    """The standard among the tensors of a file; None if it has none."""
    arrays = {name: tensor.numpy() for name, tensor in tensors.items() if name.startswith("standard.")}
    return Standard.from_arrays(arrays) if arrays else None
