"""Weights and stream state of the epoch chosen by validation."""

from dataclasses import dataclass
from typing import Self

from torch import Tensor

from model.checkpoint import of_prefix, prefixed
from model.state import State


@dataclass
class Learned:
    """Weights and the stream state computed with them; ranking continues from it."""

    weights: Tensor  # (S, P)
    state: State

    def of_seeds(self, rows: list[int]) -> Self:
        """Return an independent copy with the seeds at `rows`."""
        return type(self)(self.weights[rows], self.state.of_seeds(rows))

    def take(self, other: Self, row: int) -> None:
        """Copy seed `row` from `other`, which must be at the same stream position."""
        self.weights[row] = other.weights[row]
        self.state.take(other.state, row)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name, for a file."""
        return {"weights": self.weights, **prefixed("state.", self.state.tensors())}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """Restore from the result of `tensors`."""
        return cls(tensors["weights"], State.from_tensors(of_prefix("state.", tensors)))


@dataclass
class Chosen:
    """The best epoch so far, per seed: weights and state to rank validation and test with."""

    validation: Learned  # from the events before validation
    test: Learned  # from all events before the test period
    snapshots: dict[int, Tensor]  # position: S of the first seed (N, C, r)

    def of_seeds(self, rows: list[int]) -> Self:
        """Return a copy with the seeds at `rows`; snapshots remain those of the first seed."""
        return type(self)(self.validation.of_seeds(rows), self.test.of_seeds(rows), self.snapshots)

    def take(self, other: Self, row: int) -> None:
        """Copy seed `row` from another epoch."""
        self.validation.take(other.validation, row)
        self.test.take(other.test, row)
        if row == 0:
            self.snapshots = other.snapshots

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name, for a file."""
        return {
            **prefixed("validation.", self.validation.tensors()),
            **prefixed("test.", self.test.tensors()),
            **prefixed("snapshots.", by_place(self.snapshots)),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """Restore from the result of `tensors`."""
        return cls(
            Learned.from_tensors(of_prefix("validation.", tensors)),
            Learned.from_tensors(of_prefix("test.", tensors)),
            places_of(of_prefix("snapshots.", tensors)),
        )


def by_place(snapshots: dict[int, Tensor]) -> dict[str, Tensor]:
    """Return snapshots with string keys, for a file."""
    return {str(at): attention for at, attention in snapshots.items()}


def places_of(named: dict[str, Tensor]) -> dict[int, Tensor]:
    """Invert `by_place`, in stream order; files do not preserve the order of names."""
    return {int(at): named[at] for at in sorted(named, key=int)}
