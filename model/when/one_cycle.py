"""AdamW whose rate rises and falls once: the steps of `torch.optim.AdamW` with `OneCycleLR`, bit by bit.

That optimizer imports torch's compiler, which takes longer than to learn from a small dataset.
"""

from collections.abc import Iterable
from math import cos, pi

import torch
from torch import Tensor

RISING = 0.1  # share of the steps
FIRST = 25  # how many times smaller than the highest rate the first one is
LAST = 1e4  # how many times smaller than the first rate the last one is
MOMENTA = (0.95, 0.85, 0.95)  # at the first step, at the highest rate, at the last step
SQUARES = 0.999  # how slowly squared gradients are forgotten
SMALLEST = 1e-8


class OneCycleAdamW:
    """So many `steps` over weights, whose gradients are taken away with each of them."""

    def __init__(self, weights: Iterable[Tensor], rate: float, decay: float, steps: int) -> None:
        self.rate, self.decay, self.steps = rate, decay, steps
        self.taken = 0
        self.learned = [(weight, torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]

    @torch.no_grad()
    def step(self) -> None:
        """Take the next step."""
        rate = self.at_this_step(self.rate / FIRST, self.rate, self.rate / FIRST / LAST)
        momentum = self.at_this_step(*MOMENTA)
        self.taken += 1
        for weight, mean, square in self.learned:
            gradient = weight.grad
            assert gradient is not None
            weight.mul_(1 - rate * self.decay)
            mean.lerp_(gradient, 1 - momentum)
            square.mul_(SQUARES).addcmul_(gradient, gradient, value=1 - SQUARES)
            scale = (square.sqrt() / (1 - SQUARES**self.taken) ** 0.5).add_(SMALLEST)
            weight.addcdiv_(mean, scale, value=-(rate / (1 - momentum**self.taken)))
            weight.grad = None

    def at_this_step(self, first: float, highest: float, last: float) -> float:
        """What goes from `first` to `highest` to `last`, along half a wave each."""
        turn = RISING * self.steps - 1
        if self.taken <= turn:
            return along_half_a_wave(first, highest, self.taken / turn if turn else 1.0)
        return along_half_a_wave(highest, last, (self.taken - turn) / (self.steps - 1 - turn))


def along_half_a_wave(start: float, end: float, share: float) -> float:
    """A number on the way from `start` to `end`."""
    return end + (start - end) / 2 * (cos(pi * share) + 1)
