"""Checkpoint files: safetensors with a JSON header, written atomically and validated when read.

The checksum covers the header text and the name, dtype, shape and bytes of every tensor.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from model.identity import CHECKSUM, EARLIER_CHECKSUM, HEADER
from pipeline.lake import replacing

REMEDY = "remove it, or train with start_over=True, to begin again"

# A tensor's dtype and sizes. A string stands for any size; equal strings stand for equal sizes.
Shape = tuple[torch.dtype, tuple[int | str, ...]]


class CheckpointError(ValueError):
    """An unusable checkpoint, with the reason and the remedy."""


@dataclass(frozen=True)
class CheckpointHeader:
    """The training progress in a checkpoint's JSON header."""

    identity: dict[str, Any]
    epoch: int
    step: int
    chosen_epoch: list[int | None]
    stopped: list[dict[str, Any]]
    measured: list[list[list[float | None]]]
    seconds: float


# msgspec prepares a type at its first use, which only one thread may do: the import.
msgspec.json.Decoder(CheckpointHeader)


def write_tensors(tensors: dict[str, Tensor], header: dict[str, Any], path: Path) -> None:
    """Write named tensors and a JSON header atomically."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    text = json.dumps(header)
    with replacing(path) as temporary:
        # Not `save_file`: it creates its own temporary file, which a kill would leave behind.
        metadata = {HEADER: text, CHECKSUM: checksum(text, tensors)}
        content = save(tensors, metadata)
        header_bytes, start = sorted_header(content)
        with temporary.open("wb") as file:  # avoids a copy of possibly large tensors
            file.write(header_bytes)
            file.write(memoryview(content)[start:])


def sorted_header(content: bytes) -> tuple[bytes, int]:
    """Return the header of a safetensors file with sorted metadata, and the offset of the tensors.

    safetensors writes metadata in a nondeterministic order. A file begins with the header's length in 8 bytes
    and the header as JSON, padded with spaces to a multiple of 8.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, start


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and JSON header of a file; raise CheckpointError if it is damaged.

    Finished trainings may have the earlier checksum, which is stored in the header and does not cover it.
    They are accepted here because `model.json` repeats the header; `read_checkpoint` rejects them.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError("a folder is in its place")
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no iterator there
        text = metadata.get(HEADER, "null")
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("it has no header")
        if CHECKSUM in metadata:
            matches = metadata[CHECKSUM] == checksum(text, tensors)
        else:
            matches = header.get(EARLIER_CHECKSUM) == earlier_checksum(tensors)
        if not matches:
            raise ValueError("its content does not match its own checksum")
    # RuntimeError includes RecursionError (deeply nested header) and tensors that torch cannot represent.
    except (SafetensorError, ValueError, TypeError, RuntimeError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error}): {REMEDY}") from error
    return tensors, header


def read_checkpoint(path: Path, identity: dict[str, Any]) -> tuple[dict[str, Tensor], CheckpointHeader]:
    """Return tensors and header; raise CheckpointError if damaged or of another `identity`."""
    tensors, values = read_tensors(path)
    if EARLIER_CHECKSUM in values:
        raise CheckpointError(
            f"{path} is of an earlier version, whose checksum leaves out the header: {REMEDY}"
        )
    try:
        header = msgspec.convert(values, CheckpointHeader)
    except msgspec.ValidationError as error:
        raise CheckpointError(f"{path} does not fit ({error}): {REMEDY}") from error
    check_identity(header.identity, identity, path)
    return tensors, header


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return `tensors` with `prefix` added to each name."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def of_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with `prefix`, with the prefix removed."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def check_identity(stored: dict[str, Any], expected: dict[str, Any], path: Path) -> None:
    """Raise CheckpointError, naming the differences, if the stored identity differs from the expected one."""
    differing = [
        f"{key} is {stored.get(key)!r} there and {value!r} here"
        for key, value in expected.items()
        if stored.get(key) != value
    ]
    if differing:
        raise CheckpointError(f"{path} belongs to another training: {'; '.join(differing)}. {REMEDY}")


def check_shapes(tensors: Mapping[str, Tensor], expected: Mapping[str, Shape], path: Path) -> None:
    """Raise CheckpointError if tensors are missing, unexpected, or have the wrong dtype or shape."""
    wrong = [f"{name} is missing" for name in expected if name not in tensors]
    sizes: dict[str, int] = {}
    for name, tensor in tensors.items():
        if name not in expected:
            wrong.append(f"{name} has no place")
            continue
        dtype, shape = expected[name]
        if tensor.ndim == len(shape):
            for axis, size in zip(shape, tensor.shape, strict=True):
                if isinstance(axis, str):
                    sizes.setdefault(axis, size)
        wanted = tuple(sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in shape)
        if (tensor.dtype, tuple(tensor.shape)) != (dtype, wanted):
            wrong.append(f"{name} is {tensor.dtype} {tuple(tensor.shape)}, not {dtype} {wanted}")
    if wrong:
        raise CheckpointError(f"{path} does not fit ({'; '.join(wrong)}): {REMEDY}")


def discard(path: Path) -> None:
    """Remove a checkpoint if it exists; raise CheckpointError if the path is a folder."""
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder where a checkpoint belongs: move or remove it yourself")
    path.unlink(missing_ok=True)


def checksum(header: str, tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the header text and of all tensors in order of name."""
    total = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        total.update(bytes_of(tensor))
    return total.hexdigest()


def earlier_checksum(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of tensor names and bytes, without header, types and shapes."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(bytes_of(tensors[name]))
    return total.hexdigest()


def bytes_of(tensor: Tensor) -> bytes:
    """Return the raw bytes of a tensor."""
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
