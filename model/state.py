"""What the stream leaves behind: embeddings, attention, clocks, survival. S: seeds, N: nodes."""

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
    """What the stream has left behind after `position` events."""

    position: int
    z: Tensor  # (S, N, d)
    attention: AttentionRows  # in a large network in its place: `pages`
    clock: np.ndarray  # (N) float64 seconds of each node's last event; the stream's start before any
    survival: Tensor  # (S, T + 1) float64: running sum of the survival terms of events

    @property
    def is_large(self) -> bool:
        """Whether it is the state of a large network (`model.large.rule`)."""
        return not isinstance(self.attention, AttentionRows)

    @property
    def pages(self) -> "Pages":
        """S of a large network."""
        assert self.is_large
        return self.attention  # ty: ignore[invalid-return-type]

    def of_seeds(self, rows: list[int]) -> Self:
        """A copy for some of the seeds, which moves on by itself."""
        return type(self)(
            self.position, self.z[rows], self.attention.of_seeds(rows), self.clock.copy(), self.survival[rows]
        )

    def take(self, other: Self, row: int) -> None:
        """Take over seed `row` of a state at the same position.

        Who is a neighbour in which slot depends on the stream alone, so only numbers differ.
        """
        assert self.position == other.position
        self.z[row] = other.z[row]
        self.attention.take(other.attention, row)
        self.survival[row] = other.survival[row]

    def add_survival(self, start: int, terms: Tensor) -> None:
        """Go on with the running sum from event `start` by the terms of the events after it (S, B)."""
        stop = start + terms.shape[1]
        running = terms.double().cumsum(1)
        self.survival[:, start + 1 : stop + 1] = self.survival[:, start : start + 1] + running

    def tensors(self) -> dict[str, Tensor]:
        """Everything of it by name, for a file."""
        return {
            "position": torch.tensor(self.position),
            "z": self.z,
            **self.attention.tensors(),
            "clock": torch.from_numpy(self.clock),
            "survival": self.survival,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The state that gave `tensors`."""
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
    """The state before the first event; what is random is drawn by each seed's own generator."""
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
    """What keeps S: rows of one width, or pages, which are read and copied by the same names."""
    if not large:
        return AttentionRows
    from model.large.pages import Pages  # compiled, which the paper's networks need not wait for

    return Pages  # ty: ignore[invalid-return-type]


def initial_embeddings(stream: Stream, d: int, generator: torch.Generator) -> Tensor:
    """Z before the first event (N, d): the nodes' features, zero-padded, or random normal without any."""
    drawn = torch.randn(stream.nodes, d, generator=generator)
    if stream.features is None:
        return drawn
    features = torch.from_numpy(stream.features)
    width = features.shape[1]
    if width > d:
        raise ValueError(f"d takes at least the {width} features of a node of {stream.name!r}, not {d}")
    return torch.nn.functional.pad(features, (0, d - width))
