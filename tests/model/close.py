"""Tensors that are equal up to rounding. `torch.testing` imports for seconds before it compares two."""

import numpy as np
from torch import Tensor


def assert_close(ours: Tensor, theirs: Tensor, tolerance: float, least: float, name: str = "") -> None:
    """Assert that both are of one shape and type, and apart by `least` and that part of `theirs` at most."""
    np.testing.assert_allclose(
        ours.detach().numpy(),
        theirs.detach().numpy(),
        rtol=tolerance,
        atol=least,
        equal_nan=False,
        err_msg=name,
        strict=True,
    )
