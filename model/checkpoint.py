"""Training state on disk: safetensors with a JSON header, written whole, refused when it does not fit."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from model.identity import HEADER
from pipeline.lake import replacing


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed from, with the reason and what to do."""


def write_tensors(tensors: dict[str, Tensor], header: dict[str, Any], path: Path) -> None:
    """Write named tensors and a JSON header, whole or not at all."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    header = {**header, "sha256": digest(tensors)}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={HEADER: json.dumps(header)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Named tensors and JSON header of a file of `write_tensors`; a damaged one is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no iterator there
        if header["sha256"] != digest(tensors):
            raise ValueError("its content does not match its own checksum")
    except (SafetensorError, ValueError, KeyError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error}): {REMEDY}") from error
    return tensors, header


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """`tensors` under names that begin with `prefix`."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def of_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Those of `tensors` whose names begin with `prefix`, without it."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


REMEDY = "remove the file, or train with start_over=True, to begin again"


def check_identity(found: dict[str, Any], expected: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint of another dataset, variant, settings or version, naming what differs."""
    differing = [
        f"{key} is {found.get(key)!r} there and {value!r} here"
        for key, value in expected.items()
        if found.get(key) != value
    ]
    if differing:
        raise CheckpointError(f"{path} belongs to another training: {'; '.join(differing)}. {REMEDY}")


def digest(tensors: dict[str, Tensor]) -> str:
    """SHA-256 of all tensors' bytes, by name."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
