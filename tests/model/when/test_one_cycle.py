"""The optimizer of waiting times takes the steps of torch's own."""

import pytest
import torch
from torch import Tensor, nn

from model.when.one_cycle import OneCycleAdamW

RATE, DECAY = 3e-3, 1e-2


def loss_of(network: nn.Module, batch: Tensor) -> Tensor:
    return network(batch).square().mean()


@pytest.mark.parametrize("steps", [1, 7, 11, 60])
def test_every_step_is_that_of_torch_to_the_bit(steps: int) -> None:
    torch.manual_seed(steps)
    ours, theirs = (nn.Sequential(nn.Linear(5, 33), nn.SiLU(), nn.Linear(33, 1)) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    optimizer = OneCycleAdamW(ours.parameters(), RATE, DECAY, steps)
    reference = torch.optim.AdamW(theirs.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(reference, RATE, total_steps=steps, pct_start=0.1)
    for _ in range(steps):
        batch = torch.randn(16, 5)
        loss_of(ours, batch).backward()
        optimizer.step()
        reference.zero_grad()
        loss_of(theirs, batch).backward()
        reference.step()
        schedule.step()
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other)


def test_ten_steps_which_torch_cannot_divide_are_taken_all_the_same() -> None:
    network = nn.Linear(5, 1)
    optimizer = OneCycleAdamW(network.parameters(), RATE, DECAY, steps=10)
    for _ in range(10):
        loss_of(network, torch.ones(1, 5)).backward()
        optimizer.step()
    assert all(weight.isfinite().all() for weight in network.parameters())
