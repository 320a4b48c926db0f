"""One thread: small tensors gain nothing from more, and results do not depend on it."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)
