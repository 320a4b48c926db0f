"""What every test of the model may ask for."""

from pathlib import Path

import pytest
import torch

from tests.small_world import write_table


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors gain nothing from more threads, and results do not depend on it."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an event table small enough to train on in a moment."""
    return write_table(tmp_path_factory.mktemp("small"), name="small", nodes=12, events=48)
