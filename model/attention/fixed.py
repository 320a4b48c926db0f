"""Attention that stays as it was drawn: LDG on a random graph."""

from torch import Tensor

from model.attention.base import Attention, PairRows, Passage
from model.attention.rows import slot_softmax
from model.batches import Step


class FixedAttention(Attention):
    """S that no event moves: its softmax is taken once, and there is nothing to undo."""

    def __init__(self, passage: Passage) -> None:
        super().__init__(passage)
        self.values = slot_softmax(passage.rows.values, passage.rows.bias).view_as(self.values)

    def softmax(self, pair: PairRows, step: Step) -> tuple[Tensor, Tensor]:
        """softmax(S), which is what the rows hold here, and its bias in the slots that are in use."""
        return pair.values[:, :, : step.width], pair.bias[:, :, : step.width]
