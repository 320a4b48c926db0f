"""What the stream leaves behind: embeddings, attention, clocks, survival. S: seeds, N: nodes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from model.attention.rows import AttentionRows
from model.attention.start import Edges, association_edges, random_associations, random_edges
from model.stream import Stream
from pipeline.variants import Variant


@dataclass
class State:
    """What the stream has left behind after `position` events."""

    position: int
    z: Tensor  # (S, N, d)
    attention: AttentionRows
    clock: np.ndarray  # (N) float64 seconds of each node's last event; the stream's start before any
    survival: Tensor  # (S, T + 1) float64: running sum of the survival terms of events

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
        self.attention.values[row] = other.attention.values[row]
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
            "attention.order": torch.from_numpy(self.attention.order),
            "attention.count": torch.from_numpy(self.attention.count),
            "attention.values": self.attention.values,
            "attention.bias": self.attention.bias,
            "clock": torch.from_numpy(self.clock),
            "survival": self.survival,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The state that gave `tensors`."""
        return cls(
            position=int(tensors["position"]),
            z=tensors["z"],
            attention=AttentionRows(
                tensors["attention.order"].numpy().copy(),
                tensors["attention.count"].numpy().copy(),
                tensors["attention.values"],
                tensors["attention.bias"],
            ),
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
        attention=AttentionRows.from_edges(
            [initial_graph(stream, variant, generator) for generator in generators],
            stream.nodes,
            variant.edge_types,
            dtype,
        ),
        clock=np.zeros(stream.nodes),
        survival=torch.zeros(len(generators), len(stream) + 1, dtype=torch.float64),
    )


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


def initial_graph(stream: Stream, variant: Variant, generator: torch.Generator) -> Edges:
    """The graph that S begins with."""
    if variant.prior is not None:
        return random_edges(stream.nodes, variant.prior_probabilities, variant.edge_types, generator)
    if variant.random_associations:
        return random_associations(stream.nodes, len(stream.associations), generator)
    return association_edges(stream.associations)
