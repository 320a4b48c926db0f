"""What is kept of the epoch that validation chose: weights, and the state the stream left under them."""

from dataclasses import dataclass
from typing import Self

from torch import Tensor

from model.checkpoint import of_prefix, prefixed
from model.state import State


@dataclass
class Learned:
    """Weights and the state that the stream left behind under them: what ranking goes on from."""

    weights: Tensor  # (S, P)
    state: State

    def of_seeds(self, rows: list[int]) -> Self:
        """A copy for some of the seeds, which moves on by itself."""
        return type(self)(self.weights[rows], self.state.of_seeds(rows))

    def take(self, other: Self, row: int) -> None:
        """Take over seed `row` of what was learned up to the same event."""
        self.weights[row] = other.weights[row]
        self.state.take(other.state, row)

    def tensors(self) -> dict[str, Tensor]:
        """Everything of it by name, for a file."""
        return {"weights": self.weights, **prefixed("state.", self.state.tensors())}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """What gave `tensors`."""
        return cls(tensors["weights"], State.from_tensors(of_prefix("state.", tensors)))


@dataclass
class Chosen:
    """Of the epoch chosen so far, seed by seed: what ranks validation, and what ranks the test period."""

    validation: Learned  # from the events before validation
    test: Learned  # from all events before the test period
    snapshots: dict[int, Tensor]  # position: S of the first seed (N, C, r)

    def of_seeds(self, rows: list[int]) -> Self:
        """A copy for some of the seeds; snapshots stay those of the first."""
        return type(self)(self.validation.of_seeds(rows), self.test.of_seeds(rows), self.snapshots)

    def take(self, other: Self, row: int) -> None:
        """Take over seed `row` of another epoch."""
        self.validation.take(other.validation, row)
        self.test.take(other.test, row)
        if row == 0:
            self.snapshots = other.snapshots

    def tensors(self) -> dict[str, Tensor]:
        """Everything of it by name, for a file."""
        return {
            **prefixed("validation.", self.validation.tensors()),
            **prefixed("test.", self.test.tensors()),
            **prefixed("snapshots.", by_place(self.snapshots)),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """What gave `tensors`."""
        return cls(
            Learned.from_tensors(of_prefix("validation.", tensors)),
            Learned.from_tensors(of_prefix("test.", tensors)),
            places_of(of_prefix("snapshots.", tensors)),
        )


def by_place(snapshots: dict[int, Tensor]) -> dict[str, Tensor]:
    """Snapshots by names that a file can hold."""
    return {str(at): attention for at, attention in snapshots.items()}


def places_of(named: dict[str, Tensor]) -> dict[int, Tensor]:
    """Snapshots in stream order from `by_place`; a file keeps its names in an order of its own."""
    return {int(at): named[at] for at in sorted(named, key=int)}
