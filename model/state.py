"""The stream state: embeddings, attention, clocks and survival sums. S: seeds, N: nodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor

from model.attention.rows import AttentionRows
from model.attention.start import initial_graph
from model.large.rule import is_large
from model.stream import Stream
from pipeline.variants import Variant

if TYPE_CHECKING:
    from model.large.pages import Pages


@dataclass
class State:
    """The model's state after `position` events of the stream."""

    position: int
    z: Tensor  # (S, N, d)
    attention: AttentionRows  # in a large network Pages, see `pages`
    clock: np.ndarray  # (N) float64 seconds of each node's last event; the stream's start before any
    survival: Tensor  # (S, T + 1) float64: running sum of the survival terms of events

    @property
    def is_large(self) -> bool:
        """True for a large network (`model.large.rule`)."""
        return not isinstance(self.attention, AttentionRows)

    @property
    def pages(self) -> "Pages":
        """The attention S of a large network."""
        assert self.is_large
        return self.attention  # ty: ignore[invalid-return-type]

    def of_seeds(self, rows: list[int]) -> Self:
        """Return an independent copy with the seeds at `rows`."""
        return type(self)(
            self.position, self.z[rows], self.attention.of_seeds(rows), self.clock.copy(), self.survival[rows]
        )

    def take(self, other: Self, row: int) -> None:
        """Copy seed `row` from a state of the same stream at the same position."""
        assert self.position == other.position
        self.z[row] = other.z[row]
        self.attention.take(other.attention, row)
        self.survival[row] = other.survival[row]

    def add_survival(self, start: int, terms: Tensor) -> None:
        """Extend the running sum from position `start` by the terms of the next events (S, B)."""
        stop = start + terms.shape[1]
        running = terms.double().cumsum(1)
        self.survival[:, start + 1 : stop + 1] = self.survival[:, start : start + 1] + running

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name, for a file."""
        return {
            "position": torch.tensor(self.position),
            "z": self.z,
            **self.attention.tensors(),
            "clock": torch.from_numpy(self.clock),
            "survival": self.survival,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """Restore a state from the result of `tensors`."""
        return cls(
            position=int(tensors["position"]),
            z=tensors["z"],
            attention=attention_class("attention.node" in tensors).from_tensors(tensors),
            clock=tensors["clock"].numpy().copy(),
            survival=tensors["survival"],
        )


def initial_state(
    stream: Stream,
    variant: Variant,
    d: int,
    generators: list[torch.Generator],
    dtype: torch.dtype = torch.float32,
) -> State:
    """Return the state before the first event, drawn with each seed's own generator."""
    return State(
        position=0,
        z=torch.stack([initial_embeddings(stream, d, generator) for generator in generators]).to(dtype),
        attention=attention_class(is_large(stream.nodes)).from_edges(
            [initial_graph(stream, variant, generator) for generator in generators],
            stream.nodes,
            variant.edge_types,
            dtype,
        ),
        clock=np.zeros(stream.nodes),
        survival=torch.zeros(len(generators), len(stream) + 1, dtype=torch.float64),
    )


def attention_class(large: bool) -> type[AttentionRows]:
    """Return the class that stores S: AttentionRows, or Pages for a large network."""
    if not large:
        return AttentionRows
    from model.large.pages import Pages  # imported lazily: compiles with numba

    return Pages  # ty: ignore[invalid-return-type]


def initial_embeddings(stream: Stream, d: int, generator: torch.Generator) -> Tensor:
    """Return Z before the first event (N, d): zero-padded node features, or random normal without them."""
    drawn = torch.randn(stream.nodes, d, generator=generator)
    if stream.features is None:
        return drawn
    features = torch.from_numpy(stream.features)
    width = features.shape[1]
    if width > d:
        raise ValueError(f"d takes at least the {width} features of a node of {stream.name!r}, not {d}")
    return torch.nn.functional.pad(features, (0, d - width))
