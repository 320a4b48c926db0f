"""What the comparison asks of a model, and the stream it learns from: the arrays of an export."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.event_table import EventTable
from pipeline.export import arrays


@dataclass(frozen=True)
class Edges:
    """The events of a table as tensors, in order. Communications are learned and ranked."""

    nodes: int
    src: Tensor  # (T)
    dst: Tensor  # (T)
    t: Tensor  # (T) whole seconds
    msg: Tensor  # (T, F)
    is_communication: Tensor  # (T) bool
    splits: tuple[int, int]  # where validation and test begin

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, which: slice | Tensor) -> "Edges":
        parts = (self.src, self.dst, self.t, self.msg, self.is_communication)
        return Edges(self.nodes, *(part[which] for part in parts), self.splits)


def load_edges(table: EventTable) -> Edges:
    """The events of `table` as its export has them."""
    of = {name: torch.from_numpy(array) for name, array in arrays(table).items()}
    validation = int(of["train_mask"].sum())
    splits = validation, validation + int(of["val_mask"].sum())
    return Edges(table.nodes.height, *(of[name] for name in ("src", "dst", "t", "msg")), of["y"] == 1, splits)


class Peer(nn.Module, ABC):
    """A model with a state that the stream leaves behind."""

    title: str
    epochs: int
    batch: int
    learning_rate: float

    @abstractmethod
    def forget(self) -> None:
        """Go back to before the first event."""

    @abstractmethod
    def observe(self, events: Edges) -> None:
        """Let events enter the state."""

    @abstractmethod
    def loss(self, events: Edges) -> Tensor:
        """How unlikely the partners of the events were, both ways, from the state before them."""

    @abstractmethod
    def scores(self, source: int, target: int, second: int) -> Tensor:
        """Every node as the target of `source`, and as the actor of `target`: (2, N), higher is likelier."""
